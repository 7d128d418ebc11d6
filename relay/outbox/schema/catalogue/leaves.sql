-- What holds the rows of the table $1, the table itself or its partitions: how each is vacuumed, what its own settings do
-- not say being the server's, and how many rows were ever inserted, updated and deleted.
WITH leaf AS (
    SELECT t.relid::oid, t.level FROM pg_partition_tree($1::int8::oid::regclass) AS t WHERE t.isleaf
    UNION
    SELECT $1::int8::oid, 0 WHERE NOT EXISTS (SELECT FROM pg_partition_tree($1::int8::oid::regclass))
)
SELECT n.nspname::text AS schema,
       c.relname::text AS name,
       l.level,
       COALESCE(o.enabled::boolean, true) AND current_setting('autovacuum')::boolean AS vacuumed,
       COALESCE(o.scale, current_setting('autovacuum_vacuum_scale_factor'))::float8 AS scale,
       COALESCE(o.threshold, current_setting('autovacuum_vacuum_threshold'))::float8 AS threshold,
       COALESCE(s.n_tup_ins, 0) AS inserted, COALESCE(s.n_tup_upd, 0) AS updated, COALESCE(s.n_tup_del, 0) AS deleted
FROM leaf AS l
JOIN pg_class AS c ON c.oid = l.relid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_stat_all_tables AS s ON s.relid = l.relid
CROSS JOIN LATERAL (
    SELECT max(r.option_value) FILTER (WHERE r.option_name = 'autovacuum_enabled') AS enabled,
           max(r.option_value) FILTER (WHERE r.option_name = 'autovacuum_vacuum_scale_factor') AS scale,
           max(r.option_value) FILTER (WHERE r.option_name = 'autovacuum_vacuum_threshold') AS threshold
    FROM pg_options_to_table(c.reloptions) AS r
) AS o
ORDER BY 1, 2;
