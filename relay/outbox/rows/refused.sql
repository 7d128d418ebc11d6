-- Looks once at rows that a guard refused, to tell why: $1 is the claim's token, $2 ids, $3 their generations.
SELECT c.id,
       o.status,
       o.generation OPERATOR(pg_catalog.=) c.generation AS own_generation,
       COALESCE(o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid, false) AS own_token,
       o.claim_token IS NULL AS no_token,
       o.attempts
FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
JOIN /*table*/public.outbox AS o ON o.id OPERATOR(pg_catalog.=) c.id;
