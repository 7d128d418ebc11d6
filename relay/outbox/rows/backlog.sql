-- Looks at the backlog without reading all of it: at most 10000 rows that are due, as many that are not, and as many
-- FAILED ones. A count that reaches that number means "or more"; beyond it the oldest unsent row is the oldest of those
-- that were looked at, and expired or live claims behind them are not counted. Inserts are those of the server's own
-- statistics, rolled-back ones included.
WITH due AS MATERIALIZED (
    SELECT /*claimed:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'/*:claimed*/ AS claimed, /*createdvalue*/o.created_at AS created,
           /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/ AS since
    FROM /*table*/public.outbox AS o
    WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
      AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
    ORDER BY /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/, /*order*/o.id
    LIMIT /*cap*/10000
), later AS MATERIALIZED (
    SELECT /*claimed:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'/*:claimed*/ AS claimed, /*createdvalue*/o.created_at AS created
    FROM /*table*/public.outbox AS o
    WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
      AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/
          OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()
    ORDER BY /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/, /*order*/o.id
    LIMIT /*cap*/10000
), suspect AS MATERIALIZED (
    SELECT o.lease_until AS since, /*createdvalue*/o.created_at AS created,
           o.lease_until OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp() AS expired
    FROM /*table*/public.outbox AS o
    WHERE /*suspected:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o.attempts OPERATOR(pg_catalog.>=) 2/*:suspected*/
    LIMIT /*cap*/10000
)/*if failed*/, failed AS MATERIALIZED (
    SELECT FROM /*table*/public.outbox AS o WHERE o.status OPERATOR(pg_catalog.=) /*failed*/'FAILED' LIMIT /*cap*/10000
)/*end*/
SELECT pg_catalog.statement_timestamp() AS sampled_at,
       LEAST((SELECT pg_catalog.min(since) FROM due), (SELECT pg_catalog.min(since) FROM suspect WHERE expired)) AS oldest_eligible,
       LEAST((SELECT pg_catalog.min(created) FROM due), (SELECT pg_catalog.min(created) FROM later),
             (SELECT pg_catalog.min(created) FROM suspect)) AS oldest_unsent,
       LEAST((SELECT pg_catalog.count(*) FROM due) OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM suspect WHERE expired), /*cap*/10000) AS eligible,
       LEAST((SELECT pg_catalog.count(*) FROM later WHERE claimed) OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM suspect WHERE NOT expired), /*cap*/10000) AS in_flight,
       LEAST((SELECT pg_catalog.count(*) FROM due WHERE claimed) OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM suspect WHERE expired), /*cap*/10000) AS expired_leases,
       /*if failed*/(SELECT pg_catalog.count(*) FROM failed)/*else 0::pg_catalog.int8*/ AS failed,
       (SELECT COALESCE(pg_catalog.sum(s.n_tup_ins), 0)::pg_catalog.int8 FROM pg_catalog.pg_stat_user_tables AS s
        WHERE s.relid OPERATOR(pg_catalog.=) /*regclass*/'public.outbox'::pg_catalog.regclass
           OR s.relid OPERATOR(pg_catalog.=) ANY (
                  SELECT t.relid FROM pg_catalog.pg_partition_tree(/*regclass*/'public.outbox'::pg_catalog.regclass) AS t)) AS inserted;
