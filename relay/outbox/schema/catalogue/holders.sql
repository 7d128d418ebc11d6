-- Who keeps VACUUM from removing what is dead in this database, the oldest first: sessions, prepared transactions, and
-- replication slots, among them the standbys that send feedback. The catalog_xmin of a slot is left out: it keeps rows of
-- the catalogue alone. When a session's transaction began is seen only by those who may see others' sessions; how many
-- transactions have begun since by everybody. $1 and $2 are from how many transactions and seconds on it matters.
SELECT h.kind, h.name, h.transactions, h.seconds
FROM (
    SELECT CASE WHEN a.datid IS NULL OR a.datid = 0 THEN 'standby' ELSE 'session' END AS kind,
           'pid ' || a.pid || COALESCE(' (' || NULLIF(a.application_name, '') || ')', '') AS name,
           age(a.backend_xmin)::int8 AS transactions,
           COALESCE(extract(epoch FROM statement_timestamp() - a.xact_start), 0)::float8 AS seconds
    FROM pg_stat_activity AS a
    WHERE a.backend_xmin IS NOT NULL AND a.pid <> pg_backend_pid()
      AND a.usesysid IS NOT NULL -- Autovacuum's own workers have no user, and wait for nobody's sake.
      AND (a.datid IS NULL OR a.datid = 0 OR a.datname = current_database())
    UNION ALL
    SELECT 'prepared transaction', p.gid, age(p.transaction)::int8, extract(epoch FROM statement_timestamp() - p.prepared)::float8
    FROM pg_prepared_xacts AS p
    WHERE p.database = current_database()
    UNION ALL
    SELECT 'replication slot', s.slot_name::text, age(s.xmin)::int8, 0
    FROM pg_replication_slots AS s
    WHERE s.xmin IS NOT NULL
) AS h
WHERE h.transactions >= $1::int8 OR h.seconds >= $2::float8
ORDER BY h.transactions DESC
LIMIT 5;
