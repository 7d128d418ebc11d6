-- What became of every event. Each line is one finding and how often it is there, with a few examples.
WITH unresolved AS MATERIALIZED (
    SELECT event_id, status FROM /*outbox*/public.outbox WHERE status IN ('READY', 'INPROGRESS', 'FAILED')
), lost AS MATERIALIZED (
    SELECT o.event_id
    FROM /*schema*/public.orders AS o
    WHERE NOT EXISTS (SELECT 1 FROM /*schema*/public.receipts AS r WHERE r.event_id = o.event_id)
      AND NOT EXISTS (SELECT 1 FROM unresolved AS u WHERE u.event_id = o.event_id)
), phantom AS MATERIALIZED (
    SELECT r.event_id
    FROM /*schema*/public.receipts AS r
    WHERE NOT EXISTS (SELECT 1 FROM /*schema*/public.orders AS o WHERE o.event_id = r.event_id)
)
SELECT (SELECT count(*) FROM /*schema*/public.orders) AS committed,
       (SELECT count(*) FROM /*schema*/public.receipts) AS received,
       (SELECT count(*) FROM lost) AS lost,
       (SELECT COALESCE(array_agg(event_id), '{}') FROM (SELECT event_id::text FROM lost LIMIT 10) AS l) AS lost_events,
       (SELECT count(*) FROM phantom) AS phantoms,
       (SELECT COALESCE(array_agg(event_id), '{}') FROM (SELECT event_id::text FROM phantom LIMIT 10) AS p) AS phantom_events,
       (SELECT count(*) FROM unresolved WHERE status <> 'FAILED') AS unsent,
       (SELECT count(*) FROM unresolved WHERE status = 'FAILED') AS failed,
       (SELECT count(*) FROM /*schema*/public.misnamed) AS misnamed;
