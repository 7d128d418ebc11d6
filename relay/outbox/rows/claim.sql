-- Takes rows that are due, or whose lease has ended, and makes them this claim's: $1 is its token, $2 how long it holds,
-- $3 the watermark, below which nothing is looked at, $5 when the database could not be reached: a lease that ended then says
-- nothing of its row, and what the claim before has charged is this claim's attempt. READY rows are due at next_attempt_at,
-- INPROGRESS rows when their lease ends; one expression says so, and the queue index holds it, so that the oldest rows are
-- found without a sort however many are delayed, in flight or done. An OR over two columns has no such order. Rows whose
-- relays have died twice are not in that index; see suspects.sql.
--
-- A CTE with row locks is evaluated once: inline, the planner may run it again for every row of a nested loop, and each
-- run would lock further rows. SKIP LOCKED passes over what another claim is taking. The limit is a literal, because a
-- plan made for any limit falls back to a scan of the table.
--
-- The rows are looked up by an array of the candidates' keys: it is made once, and a join with the candidates costs half as
-- much again. Where ids are unique only within a partition it has to be the join. Only keys come back: what can fill a
-- socket must not be sent while the rows are locked. The last two columns are the oldest due time of the whole claim, and
-- whether another claim had held the row: an object is a hash that is looked up per row, where a subquery might be searched.
WITH candidate AS MATERIALIZED (
    SELECT o.id AS id,/*if whole*//*else o.partition_key AS partition_key,*/
           /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/ AS due,
           /*claimed:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'/*:claimed*/ AS reclaimed
    FROM /*table*/public.outbox AS o
    WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
      AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/
          OPERATOR(pg_catalog.>=) $3::pg_catalog.timestamptz/*if inprogress*//*else
      AND o.next_attempt_at OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()*/
    ORDER BY /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/,
             /*order*/o.id
    LIMIT /*limit*/500
    FOR UPDATE SKIP LOCKED
)
UPDATE /*table*/public.outbox AS o
SET /*if inprogress*//*status*/status = /*inprogress*/'INPROGRESS',/*end*/
    /*if generation*//*generation*/generation = COALESCE(o.generation, 0) OPERATOR(pg_catalog.+) 1,/*end*/
    /*if attempts*//*attempts*/attempts = COALESCE(o.attempts, 0) OPERATOR(pg_catalog.+) (CASE WHEN /*lapsed:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until END)
          OPERATOR(pg_catalog.<@) (SELECT $5::pg_catalog.text::pg_catalog.tstzmultirange)/*:lapsed*/
          THEN 0 ELSE 1 END),/*end*/
    /*if token*//*claim_token*/claim_token = (SELECT $1::pg_catalog.text::/*tokentype*/pg_catalog.uuid),/*end*/
    /*lease_until*/lease_until = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval
/*if whole*/WHERE o.id OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT c.id FROM candidate AS c))/*else FROM candidate AS c
WHERE o.id OPERATOR(pg_catalog.=) c.id AND o.partition_key OPERATOR(pg_catalog.=) c.partition_key*/
RETURNING o.id, /*generationvalue*/o.generation, /*countervalue*/o.attempts, o.next_attempt_at,
          COALESCE(pg_catalog.octet_length(/*payload*/o.payload), 0), /*partitionvalue*/NULL::pg_catalog.text,
          (SELECT pg_catalog.min(w.due) FROM candidate AS w),
          COALESCE((SELECT pg_catalog.jsonb_object_agg(w.id::pg_catalog.text, true) FROM candidate AS w WHERE w.reclaimed)
                   OPERATOR(pg_catalog.?) o.id::pg_catalog.text, false);
