-- Counts the events that came first after a later event of their key. Within a partition the offset is the order; a key
-- is in one partition unless partitions were added.
WITH first_seen AS (
    SELECT o.id,
           max(o.id) OVER (PARTITION BY o.key, r.partition ORDER BY r."offset"
                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest_before
    FROM /*schema*/public.orders AS o
    JOIN /*schema*/public.receipts AS r USING (event_id)
)
SELECT count(*) FROM first_seen WHERE latest_before > id;
