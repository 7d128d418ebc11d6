-- Takes rows in the order of their keys: $1 is the claim's token, $2 how long it holds. An event is never taken before an
-- earlier unresolved one of its key, whatever their due times say, and all of a key's events are in one claim at a time.
-- Runs behind lock_ordered.sql in one transaction: one such claim at a time, each with a snapshot that is newer than what
-- the one before has done.
--
-- blocked: per key the first unresolved row that cannot be taken now, because it is in flight, is due later, has no due time
-- or no lease, so that it waits for somebody, is suspected of killing its relays, or has FAILED and halts its key. due: the
-- oldest due rows in front of their key's block; the object is a hash that is looked up per row. closure: completes that set,
-- because a due time may be later than that of a younger row of the same key: everything unresolved of those keys up to there
-- is due too, and comes along. The limit within keeps it a look-up of each key: a join could be planned as a walk through all
-- rows, published ones too, that compares each with each key. What is cut by the limit is cut by order, so that prefixes are left.
-- missed: what somebody else has locked ends its key's prefix as well. free: rows without a key, which have no order. Where
-- ids are unique only within a partition, its key goes with them all the way.
WITH blocked AS MATERIALIZED (
    SELECT COALESCE(pg_catalog.jsonb_object_agg(g.key, g.first), '{}') AS firsts
    FROM (
        SELECT b.key, pg_catalog.min(b.place) AS first
        FROM (
            SELECT o.key::pg_catalog.text AS key, /*order*/o.id AS place
            FROM /*table*/public.outbox AS o
            WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
              AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/
                  OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()
            UNION ALL
            SELECT o.key::pg_catalog.text, /*order*/o.id
            FROM /*table*/public.outbox AS o
            WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
              AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/ IS NULL
            UNION ALL
            SELECT o.key::pg_catalog.text, /*order*/o.id
            FROM /*table*/public.outbox AS o
            WHERE /*suspected:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o.attempts OPERATOR(pg_catalog.>=) 2/*:suspected*/
            /*if halt*/UNION ALL
            SELECT o.key::pg_catalog.text, /*order*/o.id
            FROM /*table*/public.outbox AS o
            WHERE o.status OPERATOR(pg_catalog.=) /*failed*/'FAILED'/*end*/
        ) AS b
        WHERE b.key IS NOT NULL
        GROUP BY b.key
    ) AS g
), due AS MATERIALIZED (
    SELECT o.id AS id,/*if whole*//*else o.partition_key AS partition_key,*/ o.key::pg_catalog.text AS key, /*order*/o.id AS place,
           /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/ AS due
    FROM /*table*/public.outbox AS o
    WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
      AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND COALESCE(((SELECT firsts FROM blocked) OPERATOR(pg_catalog.->) o.key::pg_catalog.text)::pg_catalog.int8
                   OPERATOR(pg_catalog.>) /*order*/o.id, true)
    ORDER BY /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/, /*order*/o.id
    LIMIT /*limit*/500
), top AS MATERIALIZED (
    SELECT d.key, pg_catalog.max(d.place) AS upto FROM due AS d WHERE d.key IS NOT NULL GROUP BY d.key
), free AS MATERIALIZED (
    SELECT o.id AS id,/*if whole*//*else o.partition_key AS partition_key,*/
           /*claimed:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'/*:claimed*/ AS reclaimed
    FROM /*table*/public.outbox AS o
    /*if whole*/WHERE o.id OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT d.id FROM due AS d WHERE d.key IS NULL))/*else JOIN due AS d
      ON d.key IS NULL AND o.id OPERATOR(pg_catalog.=) d.id AND o.partition_key OPERATOR(pg_catalog.=) d.partition_key*/
    FOR UPDATE OF o SKIP LOCKED
), closure AS MATERIALIZED (
    SELECT r.id AS id,/*if whole*//*else r.partition_key AS partition_key,*/ t.key AS key, r.place AS place
    FROM top AS t
    CROSS JOIN LATERAL (
        SELECT o.id AS id,/*if whole*//*else o.partition_key AS partition_key,*/ /*order*/o.id AS place
        FROM /*table*/public.outbox AS o
        WHERE o.key OPERATOR(pg_catalog.=) t.key::/*keytype*/pg_catalog.text AND /*order*/o.id OPERATOR(pg_catalog.<=) t.upto
          AND o.status OPERATOR(pg_catalog.=) ANY (/*unresolved*/'{READY,INPROGRESS}')
        ORDER BY /*order*/o.id
        LIMIT /*limit*/500
    ) AS r
    ORDER BY r.place
    LIMIT (SELECT /*limit*/500 OPERATOR(pg_catalog.-) pg_catalog.count(*) FROM free)
), locked AS MATERIALIZED (
    SELECT o.id AS id,/*if whole*//*else o.partition_key AS partition_key,*/ o.key::pg_catalog.text AS key, /*order*/o.id AS place,
           /*claimed:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'/*:claimed*/ AS reclaimed
    FROM /*table*/public.outbox AS o
    /*if whole*/WHERE o.id OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT c.id FROM closure AS c))/*else JOIN closure AS c
      ON o.id OPERATOR(pg_catalog.=) c.id AND o.partition_key OPERATOR(pg_catalog.=) c.partition_key*/
      AND o.status OPERATOR(pg_catalog.=) ANY (/*unresolved*/'{READY,INPROGRESS}')
    FOR UPDATE OF o SKIP LOCKED
), missed AS MATERIALIZED (
    SELECT COALESCE(pg_catalog.jsonb_object_agg(g.key, g.first), '{}') AS firsts
    FROM (SELECT c.key, pg_catalog.min(c.place) AS first
          FROM closure AS c
          WHERE NOT COALESCE((SELECT pg_catalog.jsonb_object_agg(l.id::pg_catalog.text/*if whole*//*else OPERATOR(pg_catalog.||) ' '
                                  OPERATOR(pg_catalog.||) l.partition_key::pg_catalog.text*/, true) FROM locked AS l)
                             OPERATOR(pg_catalog.?) (c.id::pg_catalog.text/*if whole*//*else OPERATOR(pg_catalog.||) ' '
                                  OPERATOR(pg_catalog.||) c.partition_key::pg_catalog.text*/), false)
          GROUP BY c.key) AS g
), keyed AS MATERIALIZED (
    SELECT l.id,/*if whole*//*else l.partition_key,*/ l.reclaimed FROM locked AS l
    WHERE COALESCE(((SELECT firsts FROM missed) OPERATOR(pg_catalog.->) l.key)::pg_catalog.int8 OPERATOR(pg_catalog.>) l.place, true)
)
UPDATE /*table*/public.outbox AS o
SET /*if inprogress*//*status*/status = /*inprogress*/'INPROGRESS',/*end*/
    /*if generation*//*generation*/generation = COALESCE(o.generation, 0) OPERATOR(pg_catalog.+) 1,/*end*/
    /*if attempts*//*attempts*/attempts = COALESCE(o.attempts, 0) OPERATOR(pg_catalog.+) (CASE WHEN /*lapsed:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until END)
          OPERATOR(pg_catalog.<@) (SELECT $5::pg_catalog.text::pg_catalog.tstzmultirange)/*:lapsed*/
          THEN 0 ELSE 1 END),/*end*/
    /*if token*//*claim_token*/claim_token = (SELECT $1::pg_catalog.text::/*tokentype*/pg_catalog.uuid),/*end*/
    /*lease_until*/lease_until = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval
/*if whole*/WHERE o.id OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT f.id FROM free AS f UNION ALL SELECT k.id FROM keyed AS k))/*else
FROM (SELECT f.id, f.partition_key FROM free AS f UNION ALL SELECT k.id, k.partition_key FROM keyed AS k) AS c
WHERE o.id OPERATOR(pg_catalog.=) c.id AND o.partition_key OPERATOR(pg_catalog.=) c.partition_key*/
RETURNING o.id, /*generationvalue*/o.generation, /*countervalue*/o.attempts, o.next_attempt_at,
          COALESCE(pg_catalog.octet_length(/*payload*/o.payload), 0), /*partitionvalue*/NULL::pg_catalog.text,
          (SELECT pg_catalog.min(w.due) FROM due AS w),
          COALESCE((SELECT pg_catalog.jsonb_object_agg(w.id::pg_catalog.text, true)
                    FROM (SELECT f.id, f.reclaimed FROM free AS f UNION ALL SELECT k.id, k.reclaimed FROM keyed AS k) AS w WHERE w.reclaimed)
                   OPERATOR(pg_catalog.?) o.id::pg_catalog.text, false),
          /*ordervalue*/o.id::pg_catalog.int8;
