-- What the catalogue and the grants say of a table: $1 is its schema, $2 its name. No row at all: there is no such table;
-- one row without a name: a table without columns. It needs no grant: the catalogue is readable by everybody. A domain counts
-- as the type that it stands for. The sequences of a whole number (int2, int4 and int8 are 21, 23 and 20) are those of its
-- identity and of its default, in the table and in each partition.
SELECT a.attname,
       CASE WHEN t.typtype OPERATOR(pg_catalog.=) 'e' THEN 'enum'
            WHEN t.typtype OPERATOR(pg_catalog.=) 'd' THEN pg_catalog.format_type(t.typbasetype, NULL)
            ELSE pg_catalog.format_type(a.atttypid, NULL) END AS type,
       a.attnotnull,
       pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE')
           AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') AS readable,
       pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE')
           AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'UPDATE') AS writable,
       c.relkind OPERATOR(pg_catalog.=) 'p' AND (d.sequences OPERATOR(pg_catalog.<>) 1 OR NOT d.own) AS scattered,
       d.shuffled
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
LEFT JOIN pg_catalog.pg_attribute AS a
    ON a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) a.atttypid
CROSS JOIN LATERAL (
    SELECT pg_catalog.count(DISTINCT q.seqrelid) AS sequences,
           COALESCE(pg_catalog.bool_or(s.relation OPERATOR(pg_catalog.=) c.oid), false) AS own,
           COALESCE(pg_catalog.bool_or(q.seqcache OPERATOR(pg_catalog.>) 1 OR q.seqincrement OPERATOR(pg_catalog.<) 0), false) AS shuffled
    FROM (SELECT c.oid AS relation UNION SELECT l.relid FROM pg_catalog.pg_partition_tree(c.oid) AS l) AS r
    JOIN pg_catalog.pg_attribute AS p
      ON p.attrelid OPERATOR(pg_catalog.=) r.relation AND p.attname OPERATOR(pg_catalog.=) a.attname
         AND COALESCE(NULLIF(t.typbasetype, 0), t.oid) OPERATOR(pg_catalog.=) ANY ('{20,21,23}'::pg_catalog.oid[])
    CROSS JOIN LATERAL (
        SELECT r.relation, i.objid AS sequence
        FROM pg_catalog.pg_depend AS i
        WHERE i.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
          AND i.refobjid OPERATOR(pg_catalog.=) p.attrelid AND i.refobjsubid OPERATOR(pg_catalog.=) p.attnum
          AND i.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass AND i.deptype OPERATOR(pg_catalog.=) 'i'
        UNION ALL
        SELECT r.relation, i.refobjid
        FROM pg_catalog.pg_attrdef AS f
        JOIN pg_catalog.pg_depend AS i
          ON i.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND i.objid OPERATOR(pg_catalog.=) f.oid
             AND i.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
        WHERE f.adrelid OPERATOR(pg_catalog.=) p.attrelid AND f.adnum OPERATOR(pg_catalog.=) p.attnum
    ) AS s
    JOIN pg_catalog.pg_sequence AS q ON q.seqrelid OPERATOR(pg_catalog.=) s.sequence
) AS d
WHERE n.nspname OPERATOR(pg_catalog.=) $1::pg_catalog.text
  AND c.relname OPERATOR(pg_catalog.=) $2::pg_catalog.text
  AND c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog."char"[]);
