-- Counts the events that came first after a later event of their key, and those that have not come though a later one has,
-- apart from those that have FAILED. Orders rise per key as they were committed. Within a partition the offset is the order;
-- a key is in one partition unless partitions were added.
WITH first_seen AS (
    SELECT o.id, o.key, o.event_id, r.event_id IS NOT NULL AS seen,
           max(o.id) FILTER (WHERE r.event_id IS NOT NULL) OVER (PARTITION BY o.key) AS latest,
           max(o.id) OVER (PARTITION BY o.key, r.partition ORDER BY r."offset"
                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest_before
    FROM /*schema*/public.orders AS o
    LEFT JOIN /*schema*/public.receipts AS r USING (event_id)
), passed AS (
    SELECT EXISTS (SELECT 1 FROM /*outbox*/public.outbox AS x WHERE x.event_id = f.event_id AND x.status = 'FAILED') AS failed
    FROM first_seen AS f
    WHERE NOT f.seen AND f.latest > f.id
)
SELECT (SELECT count(*) FROM first_seen WHERE seen AND latest_before > id) AS out_of_order,
       (SELECT count(*) FROM passed WHERE NOT failed) AS passed_by,
       (SELECT count(*) FROM passed WHERE failed) AS skipped;
