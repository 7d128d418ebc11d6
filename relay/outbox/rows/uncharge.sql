-- Gives back only the attempt of rows whose outcome nobody knows; they keep claim and lease, because the broker may have
-- them: $1 is the claim's token, $2 ids, $3 generations, $5 by id the attempts as the claim left them, so that doing it
-- twice gives back one. For the guard see settle_sent.sql.
UPDATE /*table*/public.outbox AS o
SET /*attempts*/attempts = o.attempts OPERATOR(pg_catalog.-) 1
WHERE /*guard:*/o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()/*:guard*/
  AND o.attempts::pg_catalog.text OPERATOR(pg_catalog.=) ($5::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o.id::pg_catalog.text)
  AND o.attempts OPERATOR(pg_catalog.>) 0;
