-- Takes rows by priority: $1 is the claim's token, $2 how long it holds. The larger priority goes first, then the older due
-- time. So that urgent load cannot hold an old row back for ever, a share of each claim goes to the rows that have been due
-- longest, whatever their priority. For the rest see claim.sql; there is no watermark, because priorities have no old end.
WITH aged AS MATERIALIZED (
    SELECT o.id AS id,/*if whole*//*else o.partition_key AS partition_key,*/
           /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/ AS due,
           /*claimed:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'/*:claimed*/ AS reclaimed
    FROM /*table*/public.outbox AS o
    WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
      AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()/*if inprogress*//*else
      AND o.next_attempt_at OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()*/
    ORDER BY /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/, /*order*/o.id
    LIMIT /*agedlimit*/50
    FOR UPDATE SKIP LOCKED
), urgent AS MATERIALIZED (
    SELECT o.id AS id,/*if whole*//*else o.partition_key AS partition_key,*/
           /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/ AS due,
           /*claimed:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'/*:claimed*/ AS reclaimed
    FROM /*table*/public.outbox AS o
    WHERE /*queued:*/o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (o.status OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o.attempts OPERATOR(pg_catalog.<) 2)/*:queued*/
      AND /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()/*if inprogress*//*else
      AND o.next_attempt_at OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()*/
      AND NOT COALESCE((SELECT pg_catalog.jsonb_object_agg(a.id::pg_catalog.text, true) FROM aged AS a)
                       OPERATOR(pg_catalog.?) o.id::pg_catalog.text, false)
    ORDER BY o.priority DESC,
             /*due:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)/*:due*/, /*order*/o.id
    LIMIT (SELECT /*limit*/500 OPERATOR(pg_catalog.-) pg_catalog.count(*) FROM aged)
    FOR UPDATE SKIP LOCKED
), candidate AS MATERIALIZED (
    SELECT * FROM aged UNION ALL SELECT * FROM urgent
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
                   OPERATOR(pg_catalog.?) o.id::pg_catalog.text, false),
          0 OPERATOR(pg_catalog.-) o.priority::pg_catalog.int8;
