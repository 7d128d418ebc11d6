-- Deletes rows that were published longer than $1 ago and whose status is one of those that may go: a small batch at a time,
-- the oldest first, passing over rows that others hold. One relay at a time does it, whoever gets the lock; the lock ends
-- with this transaction, so nobody has to give it back.
WITH old AS MATERIALIZED (
    SELECT o.id AS id/*if whole*//*else , o.partition_key AS partition_key*/
    FROM /*table*/public.outbox AS o
    WHERE o.status OPERATOR(pg_catalog.=) ANY (/*deletable*/'{SENT}')
      AND /*sentvalue*/o.sent_at OPERATOR(pg_catalog.<) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.-) $1::pg_catalog.interval)
      AND (SELECT pg_catalog.pg_try_advisory_xact_lock(
              (/*lockclass*/1919249785::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32)
              OPERATOR(pg_catalog.|) /*regclass*/'public.outbox'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8))
    ORDER BY /*sentvalue*/o.sent_at, /*order*/o.id
    LIMIT /*limit*/1000
    FOR UPDATE SKIP LOCKED
)
DELETE FROM /*table*/public.outbox AS o
USING old AS d
WHERE o.id OPERATOR(pg_catalog.=) d.id/*if whole*//*else AND o.partition_key OPERATOR(pg_catalog.=) d.partition_key*/;
