-- Makes rows READY again after a refusal: $1 is the claim's token, $2 sorted ids, $3 generations, $4 the delays in
-- microseconds, $5 the reasons. The delay is persisted, because a sleep in the relay would not survive it. For the guard
-- see settle_sent.sql. The attempt stays charged.
UPDATE /*table*/public.outbox AS o
SET status = 'READY', lease_until = NULL, claim_token = NULL, last_error = c.reason,
    next_attempt_at = pg_catalog.clock_timestamp()
        OPERATOR(pg_catalog.+) (c.delay OPERATOR(pg_catalog.*) '1 microsecond'::pg_catalog.interval)
FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[], $4::pg_catalog.int8[], $5::pg_catalog.text[])
    AS c (id, generation, delay, reason)
WHERE o.id OPERATOR(pg_catalog.=) c.id
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.generation OPERATOR(pg_catalog.=) c.generation
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
RETURNING o.id;
