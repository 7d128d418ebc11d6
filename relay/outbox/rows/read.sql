-- Reads what was claimed, after the claim's commit, holding no lock: $1 are ids, $2 is the claim's token. A row that is
-- not this claim's any more, because the relay was stopped in between, does not come.
SELECT c.place, o.event_id, o.topic, o.key, o.payload, o.headers, o.created_at
FROM ROWS FROM (unnest($1::pg_catalog.int8[])) WITH ORDINALITY AS c (id, place)
JOIN /*table*/public.outbox AS o ON o.id OPERATOR(pg_catalog.=) c.id
WHERE o.claim_token OPERATOR(pg_catalog.=) $2::pg_catalog.uuid;
