-- Writes down what the consumer received, in the order in which it did: $1 is the topic; $2 are the identities, $3 the
-- partitions, $4 the offsets, $5 the records' times. The parts of the statement see the table as it was before, so an
-- event that comes twice in one flush is told by its place.
WITH arrived AS MATERIALIZED (
    SELECT a.*, row_number() OVER (PARTITION BY a.event_id ORDER BY a.place) AS nth
    FROM unnest($2::uuid[], $3::integer[], $4::bigint[], $5::timestamptz[])
        WITH ORDINALITY AS a (event_id, partition, "offset", published_at, place)
), progress AS (
    INSERT INTO /*schema*/public.consumed AS c (topic, partition, next_offset, deliveries)
    SELECT $1::text, a.partition, max(a."offset") + 1, count(*) FROM arrived AS a GROUP BY a.partition
    ON CONFLICT (topic, partition)
        DO UPDATE SET next_offset = EXCLUDED.next_offset, deliveries = c.deliveries + EXCLUDED.deliveries
), repeated AS (
    INSERT INTO /*schema*/public.repeats (event_id, partition, "offset", published_at)
    SELECT a.event_id, a.partition, a."offset", a.published_at
    FROM arrived AS a
    WHERE a.nth > 1 OR EXISTS (SELECT 1 FROM /*schema*/public.receipts AS r WHERE r.event_id = a.event_id)
    RETURNING 1
), received AS (
    INSERT INTO /*schema*/public.receipts (event_id, partition, "offset", published_at)
    SELECT a.event_id, a.partition, a."offset", a.published_at FROM arrived AS a WHERE a.nth = 1
    ON CONFLICT (event_id) DO NOTHING
)
SELECT count(*) FROM repeated;
