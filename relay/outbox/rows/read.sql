-- Reads what was claimed, after the claim's commit, holding no lock: $1 are ids, $2 is the claim's token. A row that is
-- not this claim's any more, because the relay was stopped in between, does not come.
SELECT o.id, o.event_id, o.topic, o.key, o.payload, o.headers, o.created_at
FROM /*table*/public.outbox AS o
WHERE o.id OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.int8[])
  AND o.claim_token OPERATOR(pg_catalog.=) $2::pg_catalog.uuid;
