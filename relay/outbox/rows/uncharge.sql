-- Gives back only the attempt of rows whose outcome nobody knows; they keep claim and lease, because the broker may have
-- them: $1 is the claim's token, $2 ids, $3 generations, $4 the attempts as the claim left them, so that doing it twice
-- gives back one. For the guard see settle_sent.sql.
UPDATE /*table*/public.outbox AS o
SET attempts = o.attempts OPERATOR(pg_catalog.-) 1
WHERE o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation, o.attempts) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation, c.attempts
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[], $4::pg_catalog.int4[]) AS c (id, generation, attempts)
      )) IS TRUE
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
  AND o.attempts OPERATOR(pg_catalog.>) 0
RETURNING o.id;
