-- What the catalogue says of a table as a whole: $1 is its schema, $2 its name.
SELECT c.oid::int8 AS oid,
       c.relkind::text = 'p' AS partitioned,
       row_security_active(c.oid) AS row_security,
       has_table_privilege(c.oid, 'DELETE') AS may_delete
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text AND c.relname = $2::text AND c.relkind IN ('r', 'p');
