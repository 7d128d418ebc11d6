-- Puts the orders' events into the outbox, as an application does: $1 are the identities, $2 the keys, $3 the payloads,
-- $4 in how many seconds they are due.
INSERT INTO /*outbox*/public.outbox (event_id, key, payload, headers, next_attempt_at)
SELECT e.id, e.key, e.payload, '{"content-type": "application/json"}', statement_timestamp() + e.due * interval '1 second'
FROM unnest($1::uuid[], $2::text[], $3::bytea[], $4::float8[]) WITH ORDINALITY AS e (id, key, payload, due, place)
ORDER BY e.place;
