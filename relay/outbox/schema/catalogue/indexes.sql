-- The indexes of the table $1: the keys as expressions, each with its options (1: descending, 2: nulls first).
SELECT i.relname::text AS name,
       x.indisvalid AND x.indisready AND x.indislive AS valid,
       x.indisunique AS is_unique,
       m.amname::text AS method,
       ARRAY(SELECT pg_get_indexdef(x.indexrelid, k, true) FROM generate_series(1, x.indnkeyatts) AS k ORDER BY k) AS keys,
       ARRAY(SELECT x.indoption[k - 1]::int4 FROM generate_series(1, x.indnkeyatts) AS k ORDER BY k) AS options,
       COALESCE(pg_get_expr(x.indpred, x.indrelid), 'true') AS predicate,
       ARRAY(SELECT a.attname::text FROM pg_attribute AS a
             WHERE a.attrelid = x.indrelid AND a.attnum = ANY ((x.indkey::int2[])[0:x.indnkeyatts - 1])) AS columns
FROM pg_index AS x
JOIN pg_class AS i ON i.oid = x.indexrelid
JOIN pg_am AS m ON m.oid = i.relam
WHERE x.indrelid = $1::int8::oid
ORDER BY i.relname;
