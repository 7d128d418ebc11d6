-- What the catalogue and the grants say of a table: $1 is its schema, $2 its name. No row at all: there is no such table;
-- one row without a name: a table without columns. It needs no grant: the catalogue is readable by everybody. A domain counts
-- as the type that it stands for.
SELECT a.attname,
       CASE WHEN t.typtype OPERATOR(pg_catalog.=) 'e' THEN 'enum'
            WHEN t.typtype OPERATOR(pg_catalog.=) 'd' THEN pg_catalog.format_type(t.typbasetype, NULL)
            ELSE pg_catalog.format_type(a.atttypid, NULL) END AS type,
       a.attnotnull,
       pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE')
           AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') AS readable,
       pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE')
           AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'UPDATE') AS writable
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
LEFT JOIN pg_catalog.pg_attribute AS a
    ON a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) a.atttypid
WHERE n.nspname OPERATOR(pg_catalog.=) $1::pg_catalog.text
  AND c.relname OPERATOR(pg_catalog.=) $2::pg_catalog.text
  AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog."char"[]);
