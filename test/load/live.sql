-- What there is to say while the load runs: $1 is the order up to which all is known to be received. One snapshot, so the
-- counts fit together.
SELECT count(*) AS committed_since,
       -- On its way an event is for a moment neither unsent nor received: only what stays so is lost.
       count(*) FILTER (WHERE r.event_id IS NULL AND (
           CASE x.status WHEN 'SENT' THEN x.sent_at ELSE o.placed_at END) < statement_timestamp() - interval '5 seconds'
           AND (x.event_id IS NULL OR x.status = 'SENT')) AS lost,
       (SELECT count(*) FROM /*outbox*/public.outbox WHERE status IN ('READY', 'INPROGRESS')) AS unsent,
       (SELECT count(*) FROM /*outbox*/public.outbox WHERE status = 'FAILED') AS failed,
       (SELECT COALESCE(sum(deliveries), 0)::bigint FROM /*schema*/public.consumed) AS deliveries,
       (SELECT count(*) FROM /*schema*/public.repeats) AS duplicates,
       -- An order that is a minute old has no open transaction beside it that could still put a lower id in.
       LEAST(min(o.id) FILTER (WHERE r.event_id IS NULL) - 1,
             max(o.id) FILTER (WHERE o.placed_at < statement_timestamp() - interval '1 minute')) AS known_to
FROM /*schema*/public.orders AS o
LEFT JOIN /*schema*/public.receipts AS r USING (event_id)
LEFT JOIN /*outbox*/public.outbox AS x USING (event_id)
WHERE o.id > $1;
