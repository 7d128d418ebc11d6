-- Takes rows that are due, or whose lease has ended, and makes them this claim's: $1 is its token, $2 how long it holds,
-- $3 the watermark, below which nothing is looked at. READY rows are due at next_attempt_at, INPROGRESS rows when their
-- lease ends; one expression says so, and the queue index holds it, so that the oldest rows are found without a sort
-- however many are delayed, in flight or done. An OR over two columns has no such order.
--
-- A CTE with row locks is evaluated once: inline, the planner may run it again for every row of a nested loop, and each
-- run would lock further rows. SKIP LOCKED passes over what another claim is taking. The limit is a literal, because a
-- plan made for any limit falls back to a scan of the table.
--
-- Only keys come back: what can fill a socket must not be sent while the rows are locked.
WITH candidate AS MATERIALIZED (
    SELECT o.id,
           (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END) AS due,
           o.status OPERATOR(pg_catalog.=) 'INPROGRESS' AS reclaimed
    FROM /*table*/public.outbox AS o
    WHERE o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
          OPERATOR(pg_catalog.>=) $3::pg_catalog.timestamptz
    ORDER BY (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END), o.id
    LIMIT /*limit*/500
    FOR UPDATE SKIP LOCKED
)
UPDATE /*table*/public.outbox AS o
SET status = 'INPROGRESS',
    generation = o.generation OPERATOR(pg_catalog.+) 1,
    attempts = o.attempts OPERATOR(pg_catalog.+) 1,
    claim_token = $1::pg_catalog.uuid,
    lease_until = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval
FROM candidate AS c
WHERE o.id OPERATOR(pg_catalog.=) c.id
RETURNING o.id, o.generation, o.attempts, c.due, c.reclaimed, COALESCE(pg_catalog.octet_length(o.payload), 0);
