-- The CHECK constraints of the table $1 that are enforced, and the columns that each is about. PostgreSQL knows some that
-- are not enforced from version 18 on, hence the detour.
SELECT c.conname::text AS name,
       pg_get_expr(c.conbin, c.conrelid) AS expression,
       c.convalidated AS validated,
       ARRAY(SELECT a.attname::text FROM pg_attribute AS a
             WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)) AS columns
FROM pg_constraint AS c
WHERE c.conrelid = $1::int8::oid AND c.contype = 'c'
  AND COALESCE((to_jsonb(c) ->> 'conenforced')::boolean, true)
ORDER BY c.conname
LIMIT 100;
