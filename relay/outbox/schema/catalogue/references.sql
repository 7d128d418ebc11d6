-- The foreign keys that reference the table $1.
SELECT c.conrelid::regclass::text || '.' || c.conname::text
FROM pg_constraint AS c
WHERE c.contype = 'f' AND c.confrelid = $1::int8::oid AND c.conparentid = 0
ORDER BY 1
LIMIT 10;
