-- backlog, parameters
WITH due AS MATERIALIZED (
    SELECT o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' AS claimed, NULL::pg_catalog.timestamptz AS created,
           (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END) AS since
    FROM "public"."outbox_lab" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."generation" OPERATOR(pg_catalog.<) 2)
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
    ORDER BY (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END), o."id"
    LIMIT 10000
), later AS MATERIALIZED (
    SELECT o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' AS claimed, NULL::pg_catalog.timestamptz AS created
    FROM "public"."outbox_lab" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."generation" OPERATOR(pg_catalog.<) 2)
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()
    ORDER BY (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END), o."id"
    LIMIT 10000
), suspect AS MATERIALIZED (
    SELECT o."lease_until" AS since, NULL::pg_catalog.timestamptz AS created,
           o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp() AS expired
    FROM "public"."outbox_lab" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."generation" OPERATOR(pg_catalog.>=) 2
    LIMIT 10000
)
SELECT pg_catalog.statement_timestamp() AS sampled_at,
       LEAST((SELECT pg_catalog.min(since) FROM due), (SELECT pg_catalog.min(since) FROM suspect WHERE expired)) AS oldest_eligible,
       LEAST((SELECT pg_catalog.min(created) FROM due), (SELECT pg_catalog.min(created) FROM later),
             (SELECT pg_catalog.min(created) FROM suspect)) AS oldest_unsent,
       LEAST((SELECT pg_catalog.count(*) FROM due) OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM suspect WHERE expired), 10000) AS eligible,
       LEAST((SELECT pg_catalog.count(*) FROM later WHERE claimed) OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM suspect WHERE NOT expired), 10000) AS in_flight,
       LEAST((SELECT pg_catalog.count(*) FROM due WHERE claimed) OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM suspect WHERE expired), 10000) AS expired_leases,
        0::pg_catalog.int8 AS failed,
       (SELECT COALESCE(pg_catalog.sum(s.n_tup_ins), 0)::pg_catalog.int8 FROM pg_catalog.pg_stat_user_tables AS s
        WHERE s.relid OPERATOR(pg_catalog.=) '"public"."outbox_lab"'::pg_catalog.regclass
           OR s.relid OPERATOR(pg_catalog.=) ANY (
                  SELECT t.relid FROM pg_catalog.pg_partition_tree('"public"."outbox_lab"'::pg_catalog.regclass) AS t)) AS inserted;

-- claim, parameters 2 3
WITH candidate AS MATERIALIZED (
    SELECT o."id" AS id,
           (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END) AS due,
           o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' AS reclaimed
    FROM "public"."outbox_lab" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."generation" OPERATOR(pg_catalog.<) 2)
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.>=) $2::pg_catalog.timestamptz
    ORDER BY (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END),
             o."id"
    LIMIT 25
    FOR UPDATE SKIP LOCKED
)
UPDATE "public"."outbox_lab" AS o
SET "status" = 'INPROGRESS',
    "generation" = COALESCE(o."generation", 0) OPERATOR(pg_catalog.+) 1,
    "lease_until" = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $1::pg_catalog.interval
WHERE o."id" OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT c.id FROM candidate AS c))
RETURNING o."id", o."generation", o."generation"::pg_catalog.int8, o."next_attempt_at",
          COALESCE(pg_catalog.octet_length(o."payload"), 0), NULL::pg_catalog.text,
          (SELECT pg_catalog.min(w.due) FROM candidate AS w),
          COALESCE((SELECT pg_catalog.jsonb_object_agg(w.id::pg_catalog.text, true) FROM candidate AS w WHERE w.reclaimed)
                   OPERATOR(pg_catalog.?) o."id"::pg_catalog.text, false);

-- durable, parameters
SELECT pg_catalog.statement_timestamp(),
       pg_catalog.pg_postmaster_start_time()::pg_catalog.text,
       EXISTS (
           SELECT FROM "public"."outbox_lab" AS o
           WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."generation" OPERATOR(pg_catalog.>=) 2
             AND o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()),
       CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) ANY ('{on,remote_apply}') THEN ''
            ELSE pg_catalog.set_config('synchronous_commit', 'on', true)
       END;

-- read, parameters 1 2 3
SELECT o."id", NULL::pg_catalog.text, o."event_id"::pg_catalog.text, NULL::pg_catalog.text, o."aggregate_key"::pg_catalog.text,
       o."payload", NULL::pg_catalog.text, NULL::pg_catalog.timestamptz,
       NULL::pg_catalog.text, NULL::pg_catalog.text[]
FROM "public"."outbox_lab" AS o
WHERE  o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND  pg_catalog.pg_postmaster_start_time() OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.timestamptz)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- referenced, parameters
SELECT c.conname::pg_catalog.text
FROM pg_catalog.pg_constraint AS c
WHERE c.contype OPERATOR(pg_catalog.=) 'f'
  AND c.confrelid OPERATOR(pg_catalog.=) '"public"."outbox_lab"'::pg_catalog.regclass
ORDER BY c.conname
LIMIT 10;

-- refused, parameters 2
SELECT o."id", NULL::pg_catalog.text, o."status"::pg_catalog.text, o."generation", NULL::pg_catalog.text,
       0::pg_catalog.int8
FROM "public"."outbox_lab" AS o
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.int8[]);

-- release, parameters 1 2 3 5
UPDATE "public"."outbox_lab" AS o
SET "status" = 'READY', "lease_until" = NULL,
    "next_attempt_at" = CASE WHEN $4::pg_catalog.bool THEN pg_catalog.statement_timestamp() ELSE o."next_attempt_at" END
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND  pg_catalog.pg_postmaster_start_time() OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.timestamptz)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- renew, parameters 1 2 3 5
UPDATE "public"."outbox_lab" AS o
SET "lease_until" = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) $4::pg_catalog.interval
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND  pg_catalog.pg_postmaster_start_time() OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.timestamptz)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- retention, parameters 1
WITH old AS MATERIALIZED (
    SELECT o."id" AS id
    FROM "public"."outbox_lab" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"SENT"}')
      AND o."next_attempt_at" OPERATOR(pg_catalog.<) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.-) $1::pg_catalog.interval)
      AND (SELECT pg_catalog.pg_try_advisory_xact_lock(
              (1919249785::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32)
              OPERATOR(pg_catalog.|) '"public"."outbox_lab"'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8))
    ORDER BY o."next_attempt_at", o."id"
    LIMIT 1000
    FOR UPDATE SKIP LOCKED
)
DELETE FROM "public"."outbox_lab" AS o
USING old AS d
WHERE o."id" OPERATOR(pg_catalog.=) d.id;

-- settle_retry, parameters 1 2 3 5
UPDATE "public"."outbox_lab" AS o
SET "status" = 'READY', "lease_until" = NULL,
    "next_attempt_at" = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) (
        ($4::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o."id"::pg_catalog.text)::pg_catalog.float8
        OPERATOR(pg_catalog.*) '1 microsecond'::pg_catalog.interval)
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND  pg_catalog.pg_postmaster_start_time() OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.timestamptz)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- settle_sent, parameters 1 2 3
UPDATE "public"."outbox_lab" AS o
SET "status" = 'SENT', "lease_until" = NULL, "next_attempt_at" = pg_catalog.statement_timestamp()
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND  pg_catalog.pg_postmaster_start_time() OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.timestamptz)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- suspects, parameters 2 4
WITH head AS MATERIALIZED (
    SELECT o."generation" AS tries
    FROM "public"."outbox_lab" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."generation" OPERATOR(pg_catalog.>=) 2
      AND o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
    ORDER BY o."generation" DESC, o."lease_until", o."id"
    LIMIT 1
), candidate AS MATERIALIZED (
    SELECT o."id" AS id, o."lease_until" AS due
    FROM "public"."outbox_lab" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."generation" OPERATOR(pg_catalog.>=) 2
      AND o."generation" OPERATOR(pg_catalog.=) (SELECT tries FROM head)
      AND o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
    ORDER BY o."lease_until", o."id"
    LIMIT (SELECT CASE WHEN tries OPERATOR(pg_catalog.>=) $2::pg_catalog.int8 THEN 1
                       ELSE GREATEST(25 OPERATOR(pg_catalog.>>) LEAST(tries OPERATOR(pg_catalog.-) 1, 30)::pg_catalog.int4, 1) END
           FROM head)
    FOR UPDATE SKIP LOCKED
)
UPDATE "public"."outbox_lab" AS o
SET "generation" = COALESCE(o."generation", 0) OPERATOR(pg_catalog.+) 1,
    "lease_until" = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $1::pg_catalog.interval
FROM candidate AS c
WHERE o."id" OPERATOR(pg_catalog.=) c.id
RETURNING o."id", o."generation", o."generation"::pg_catalog.int8, o."next_attempt_at",
          COALESCE(pg_catalog.octet_length(o."payload"), 0), NULL::pg_catalog.text,
          (SELECT pg_catalog.min(w.due) FROM candidate AS w),
          true;

-- indexes
CREATE INDEX "outbox_lab_queue" ON "public"."outbox_lab"
    ((CASE WHEN "status" = 'INPROGRESS' THEN "lease_until" ELSE "next_attempt_at" END), "id")
    WHERE "status" = ANY ('{"READY","INPROGRESS"}') AND ("status" <> 'INPROGRESS' OR "generation" < 2);
CREATE INDEX "outbox_lab_suspects" ON "public"."outbox_lab" ("generation" DESC, "lease_until", "id")
    WHERE "status" = 'INPROGRESS' AND "generation" >= 2;
