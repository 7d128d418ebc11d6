-- Gives back the rows of a claim whose answer was lost, and their attempts: $1 is its token. Their ids are unknown, so they
-- are looked for where their leases must end: later than $2 and not later than $3 from now. They keep their due time: they
-- were never looked at.
UPDATE /*table*/public.outbox AS o
SET status = 'READY', lease_until = NULL, claim_token = NULL,
    attempts = GREATEST(o.attempts OPERATOR(pg_catalog.-) 1, 0)
WHERE o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
  AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
      OPERATOR(pg_catalog.>) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval)
  AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
      OPERATOR(pg_catalog.<=) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $3::pg_catalog.interval)
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();
