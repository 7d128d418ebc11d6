-- The row triggers that an UPDATE of some of the columns $2 of the table $1 fires; of tgtype, 1 is "for each row" and 16
-- "update". Those of foreign keys and partitions are the server's own.
SELECT t.tgname::text
FROM pg_trigger AS t
WHERE t.tgrelid = $1::int8::oid AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
  AND t.tgtype & 1 = 1 AND t.tgtype & 16 = 16
  AND (cardinality(t.tgattr::int2[]) = 0 OR EXISTS (
           SELECT FROM pg_attribute AS a
           WHERE a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr::int2[]) AND a.attname::text = ANY ($2::text[])))
ORDER BY t.tgname
LIMIT 10;
