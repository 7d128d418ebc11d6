-- Ends rows as FAILED, which is unresolved, visible and repairable: $1 is the claim's token, $2 sorted ids, $3 generations,
-- $4 the reasons. For the guard, and why the token stays, see settle_sent.sql.
UPDATE /*table*/public.outbox AS o
SET status = 'FAILED', lease_until = NULL, failed_at = pg_catalog.statement_timestamp(), last_error = c.reason
FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[], $4::pg_catalog.text[]) AS c (id, generation, reason)
WHERE o.id OPERATOR(pg_catalog.=) c.id
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.generation OPERATOR(pg_catalog.=) c.generation
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
RETURNING o.id;
