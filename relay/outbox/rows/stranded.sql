-- Counts rows that no claim takes, because nothing says when: claimed rows without a lease, and waiting rows without a due
-- time. The queue index has both at its end, the suspects' index those that were claimed twice and more, so the rest of the
-- table costs nothing. And waiting rows that have a lease, among the 10000 that are the first in the queue. A count of 1000
-- means "or more".
WITH unset AS MATERIALIZED (
    SELECT /*claimed:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'/*:claimed*/ AS claimed
    FROM /*table*/public.outbox AS o
    WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
      AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/ IS NULL
    LIMIT 1000
), suspect AS MATERIALIZED (
    SELECT FROM /*table*/public.outbox AS o
    WHERE /*suspected:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o.attempts OPERATOR(pg_catalog.>=) 2/*:suspected*/
      AND o.lease_until IS NULL
    LIMIT 1000
), first AS MATERIALIZED (
    SELECT NOT (/*claimed:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'/*:claimed*/) AND o.lease_until IS NOT NULL AS stray
    FROM /*table*/public.outbox AS o
    WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
      AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/ IS NOT NULL
    ORDER BY /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/, /*order*/o.id
    LIMIT /*cap*/10000
)
SELECT LEAST((SELECT pg_catalog.count(*) FROM unset WHERE claimed) OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM suspect), 1000) AS without_lease,
       (SELECT pg_catalog.count(*) FROM unset WHERE NOT claimed) AS without_due_time,
       LEAST((SELECT pg_catalog.count(*) FROM first WHERE stray), 1000) AS stray_leases,
       (SELECT pg_catalog.count(*) FROM first) OPERATOR(pg_catalog.=) 0 AS queue_empty;
