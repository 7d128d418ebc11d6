-- Every delivery of an event that had been delivered before, with the time of the delivery before it.
WITH repeated AS (
    SELECT DISTINCT event_id FROM /*schema*/public.repeats
), delivery AS (
    SELECT r.event_id, r.partition, r."offset", r.published_at FROM /*schema*/public.receipts AS r JOIN repeated USING (event_id)
    UNION ALL
    SELECT event_id, partition, "offset", published_at FROM /*schema*/public.repeats
), sequence AS (
    SELECT event_id, published_at,
           lag(published_at) OVER (PARTITION BY event_id ORDER BY published_at, partition, "offset") AS earlier
    FROM delivery
)
SELECT event_id::text, earlier, published_at FROM sequence WHERE earlier IS NOT NULL ORDER BY published_at;
