-- Makes rows READY again after a refusal: $1 is the claim's token, $2 ids, $3 generations, $5 by id how many microseconds a
-- row waits, $6 by id the reason. The delay is persisted, because a sleep in the relay would not survive it. For the guard
-- see settle_sent.sql; the objects are hashes that are looked up per row. The attempt stays charged.
UPDATE /*table*/public.outbox AS o
SET /*if inprogress*//*status*/status = /*ready*/'READY',/*end*/ /*lease_until*/lease_until = NULL,
    /*if token*//*claim_token*/claim_token = NULL,/*end*/
    /*if lasterror*//*last_error*/last_error = $6::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o.id::pg_catalog.text,/*end*/
    /*next_attempt_at*/next_attempt_at = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) (
        ($5::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o.id::pg_catalog.text)::pg_catalog.float8
        OPERATOR(pg_catalog.*) '1 microsecond'::pg_catalog.interval)
WHERE /*guard:*/o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()/*:guard*/;
