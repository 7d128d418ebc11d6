-- Takes suspects: rows whose lease has run out after two or more attempts, so that one of them may be what kills its relays.
-- $1 is the claim's token, $2 how long it holds, $3 the token of a claim that takes a single row, $4 the attempts after
-- which a row is claimed alone. Those with the most attempts come first, and only ones with as many: half a batch after two
-- attempts, a quarter after three, and so on. So a row that kills is soon alone, and takes no neighbour along.
--
-- Where order matters only the first unresolved row of a key is taken, and none that an earlier FAILED one halts.
--
-- It does not matter how a claim came to hold one row: it was alone, and its token says so.
WITH head AS MATERIALIZED (
    SELECT /*counter*/o.attempts AS tries
    FROM /*table*/public.outbox AS o
    WHERE /*suspected:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o.attempts OPERATOR(pg_catalog.>=) 2/*:suspected*/
      AND o.lease_until OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()/*if unordered*//*else
      AND NOT EXISTS (SELECT FROM {table} AS e
                      WHERE e.{key} OPERATOR(pg_catalog.=) o.{key} AND e.{ordername} OPERATOR(pg_catalog.<) o.{ordername}
                        AND e.{status} OPERATOR(pg_catalog.=) ANY ({unresolved}))
      {haltedfirst}*/
    ORDER BY /*counter*/o.attempts DESC, o.lease_until, /*order*/o.id
    LIMIT 1
), candidate AS MATERIALIZED (
    SELECT o.id AS id,/*if whole*//*else o.partition_key AS partition_key,*/ o.lease_until AS due
    FROM /*table*/public.outbox AS o
    WHERE /*suspected:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o.attempts OPERATOR(pg_catalog.>=) 2/*:suspected*/
      AND /*counter*/o.attempts OPERATOR(pg_catalog.=) (SELECT tries FROM head)
      AND o.lease_until OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()/*if unordered*//*else
      AND NOT EXISTS (SELECT FROM {table} AS e
                      WHERE e.{key} OPERATOR(pg_catalog.=) o.{key} AND e.{ordername} OPERATOR(pg_catalog.<) o.{ordername}
                        AND e.{status} OPERATOR(pg_catalog.=) ANY ({unresolved}))
      {haltedfirst}*/
    ORDER BY o.lease_until, /*order*/o.id
    LIMIT (SELECT CASE WHEN tries OPERATOR(pg_catalog.>=) $4::pg_catalog.int8 THEN 1
                       ELSE GREATEST(/*limit*/500 OPERATOR(pg_catalog.>>) LEAST(tries OPERATOR(pg_catalog.-) 1, 30)::pg_catalog.int4, 1) END
           FROM head)
    FOR UPDATE SKIP LOCKED
)
UPDATE /*table*/public.outbox AS o
SET /*if generation*//*generation*/generation = COALESCE(o.generation, 0) OPERATOR(pg_catalog.+) 1,/*end*/
    /*if attempts*//*attempts*/attempts = COALESCE(o.attempts, 0) OPERATOR(pg_catalog.+) (CASE WHEN /*lapsed:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until END)
          OPERATOR(pg_catalog.<@) (SELECT $5::pg_catalog.text::pg_catalog.tstzmultirange)/*:lapsed*/
          THEN 0 ELSE 1 END),/*end*/
    /*if token*//*claim_token*/claim_token = (CASE WHEN (SELECT pg_catalog.count(*) FROM candidate) OPERATOR(pg_catalog.=) 1
        THEN $3::pg_catalog.text ELSE $1::pg_catalog.text END)::/*tokentype*/pg_catalog.uuid,/*end*/
    /*lease_until*/lease_until = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval
FROM candidate AS c
WHERE o.id OPERATOR(pg_catalog.=) c.id/*if whole*//*else AND o.partition_key OPERATOR(pg_catalog.=) c.partition_key*/
RETURNING o.id, /*generationvalue*/o.generation, /*countervalue*/o.attempts, o.next_attempt_at,
          COALESCE(pg_catalog.octet_length(/*payload*/o.payload), 0), /*partitionvalue*/NULL::pg_catalog.text,
          (SELECT pg_catalog.min(w.due) FROM candidate AS w),
          true;
