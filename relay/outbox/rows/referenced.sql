-- The foreign keys that reference the table: deleting a row would reach through them into others' tables, or fail.
SELECT c.conname::pg_catalog.text
FROM pg_catalog.pg_constraint AS c
WHERE c.contype OPERATOR(pg_catalog.=) 'f'
  AND c.confrelid OPERATOR(pg_catalog.=) /*regclass*/'public.outbox'::pg_catalog.regclass
ORDER BY c.conname
LIMIT 10;
