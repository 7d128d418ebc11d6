-- Looks at the backlog without reading all of it: at most 10000 rows that are due, as many that are not, and as many
-- FAILED ones. A count that reaches that number means "or more"; beyond it the oldest unsent row is the oldest of those
-- that were looked at, and expired or live claims behind them are not counted.
WITH due AS MATERIALIZED (
    SELECT o.status, o.created_at,
           (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END) AS since
    FROM /*table*/public.outbox AS o
    WHERE o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
    ORDER BY (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END), o.id
    LIMIT /*cap*/10000
), later AS MATERIALIZED (
    SELECT o.status, o.created_at
    FROM /*table*/public.outbox AS o
    WHERE o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
          OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()
    ORDER BY (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END), o.id
    LIMIT /*cap*/10000
), failed AS MATERIALIZED (
    SELECT 1 FROM /*table*/public.outbox AS o WHERE o.status OPERATOR(pg_catalog.=) 'FAILED' LIMIT /*cap*/10000
)
SELECT pg_catalog.statement_timestamp() AS sampled_at,
       (SELECT pg_catalog.min(since) FROM due) AS oldest_eligible,
       LEAST((SELECT pg_catalog.min(created_at) FROM due), (SELECT pg_catalog.min(created_at) FROM later)) AS oldest_unsent,
       (SELECT pg_catalog.count(*) FROM due) AS eligible,
       (SELECT pg_catalog.count(*) FROM later WHERE status OPERATOR(pg_catalog.=) 'INPROGRESS') AS in_flight,
       (SELECT pg_catalog.count(*) FROM due WHERE status OPERATOR(pg_catalog.=) 'INPROGRESS') AS expired_leases,
       (SELECT pg_catalog.count(*) FROM failed) AS failed;
