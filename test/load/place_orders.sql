-- Places orders: $1 are the identities of their events, $2 the keys.
INSERT INTO /*schema*/public.orders (event_id, key)
SELECT e.id, e.key
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS e (id, key, place)
ORDER BY e.place;
