-- Gives back the rows of a claim whose answer was lost, and their attempts: $1 is its token. Their ids are unknown, so they
-- are looked for where their leases must end: later than $2 and not later than $3 from now. They keep their due time: they
-- were never looked at. A suspect that goes back is due, and no suspect any more until it is claimed and expires again.
UPDATE /*table*/public.outbox AS o
SET /*if inprogress*//*status*/status = /*ready*/'READY',/*end*/ /*lease_until*/lease_until = NULL,
    /*if attempts*//*attempts*/attempts = GREATEST(o.attempts OPERATOR(pg_catalog.-) 1, 0),/*end*/
    /*claim_token*/claim_token = NULL
WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
  AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/
      OPERATOR(pg_catalog.>) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval)
  AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/
      OPERATOR(pg_catalog.<=) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $3::pg_catalog.interval)
  AND (o.status::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) /*claimedstatus*/'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.text::/*tokentype*/pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();
