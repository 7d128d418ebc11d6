-- Gives rows back that were never handed to the broker, and the attempt that the claim charged: $1 is the claim's token,
-- $2 ids, $3 generations, $5 whether they become due now. They do when the relay stops, because other relays' watermarks
-- would pass over an older due time; in an outage they keep theirs, because their age must not begin anew. For the guard
-- see settle_sent.sql.
UPDATE /*table*/public.outbox AS o
SET /*if inprogress*//*status*/status = /*ready*/'READY',/*end*/ /*lease_until*/lease_until = NULL,
    /*if token*//*claim_token*/claim_token = NULL,/*end*/
    /*if attempts*//*attempts*/attempts = GREATEST(o.attempts OPERATOR(pg_catalog.-) 1, 0),/*end*/
    /*next_attempt_at*/next_attempt_at = CASE WHEN $5::pg_catalog.bool THEN pg_catalog.statement_timestamp() ELSE o.next_attempt_at END
WHERE /*guard:*/o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()/*:guard*/;
