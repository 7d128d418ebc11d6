-- The columns of the table $1, with the types as a cast names them: that of the column itself, and without domains.
SELECT a.attname::text AS name,
       format_type(a.atttypid, a.atttypmod) AS type,
       CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, NULL) ELSE format_type(a.atttypid, NULL) END AS base_type,
       a.attnotnull OR t.typnotnull AS not_null,
       a.attgenerated <> '' OR a.attidentity = 'a' AS generated
FROM pg_attribute AS a
JOIN pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = $1::int8::oid AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum;
