-- Looks once at rows that a guard refused, to tell why: $1 are ids.
SELECT o.id, o.status, o.generation, o.claim_token, o.attempts
FROM /*table*/public.outbox AS o
WHERE o.id OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.int8[]);
