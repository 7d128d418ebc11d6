-- As recover.sql, for rows that were suspects, or retries, when they were claimed: those have an index of their own.
UPDATE /*table*/public.outbox AS o
SET /*if inprogress*//*status*/status = /*ready*/'READY',/*end*/ /*lease_until*/lease_until = NULL,
    /*if attempts*//*attempts*/attempts = GREATEST(o.attempts OPERATOR(pg_catalog.-) 1, 0),/*end*/
    /*claim_token*/claim_token = NULL
WHERE /*suspected:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o.attempts OPERATOR(pg_catalog.>=) 2/*:suspected*/
  AND o.lease_until OPERATOR(pg_catalog.>) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval)
  AND o.lease_until OPERATOR(pg_catalog.<=) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $3::pg_catalog.interval)
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.text::/*tokentype*/pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();
