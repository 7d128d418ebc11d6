-- Puts the orders' events into the outbox, as an application does: $1 are the identities, $2 the keys, $3 the payloads.
INSERT INTO /*outbox*/public.outbox (event_id, key, payload, headers)
SELECT e.id, e.key, e.payload, '{"content-type": "application/json"}'
FROM unnest($1::uuid[], $2::text[], $3::bytea[]) WITH ORDINALITY AS e (id, key, payload, place)
ORDER BY e.place;
