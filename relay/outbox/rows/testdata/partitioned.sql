-- abandon, parameters 1 5
WITH candidate AS MATERIALIZED (
    SELECT o."id" AS id , o."event_id" AS partition_key
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."attempts" OPERATOR(pg_catalog.>=) 2
      AND o."attempts" OPERATOR(pg_catalog.>=) $1::pg_catalog.int8
      AND o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND ((CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" END)
          OPERATOR(pg_catalog.<@) (SELECT $2::pg_catalog.text::pg_catalog.tstzmultirange)) IS NOT TRUE
      AND pg_catalog.substr(o."claim_token"::pg_catalog.text, 15, 1) OPERATOR(pg_catalog.=) '8'
    LIMIT 500
    FOR UPDATE SKIP LOCKED
)
UPDATE "public"."outbox" AS o
SET "status" = 'FAILED', "lease_until" = NULL,
    "last_error" = 'abandoned: its relays ended while they held this event, the last one while it held nothing else; it may have been published',
    "failed_at" = pg_catalog.statement_timestamp()
FROM candidate AS c
WHERE o."id" OPERATOR(pg_catalog.=) c.id AND o."event_id" OPERATOR(pg_catalog.=) c.partition_key;

-- backlog, parameters
WITH due AS MATERIALIZED (
    SELECT o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' AS claimed, o."created_at" AS created,
           (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END) AS since
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."attempts" OPERATOR(pg_catalog.<) 2)
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
    ORDER BY (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END), o."id"
    LIMIT 10000
), later AS MATERIALIZED (
    SELECT o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' AS claimed, o."created_at" AS created
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."attempts" OPERATOR(pg_catalog.<) 2)
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()
    ORDER BY (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END), o."id"
    LIMIT 10000
), suspect AS MATERIALIZED (
    SELECT o."lease_until" AS since, o."created_at" AS created,
           o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp() AS expired
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."attempts" OPERATOR(pg_catalog.>=) 2
    LIMIT 10000
), failed AS MATERIALIZED (
    SELECT FROM "public"."outbox" AS o WHERE o."status" OPERATOR(pg_catalog.=) 'FAILED' LIMIT 10000
)
SELECT pg_catalog.statement_timestamp() AS sampled_at,
       LEAST((SELECT pg_catalog.min(since) FROM due), (SELECT pg_catalog.min(since) FROM suspect WHERE expired)) AS oldest_eligible,
       LEAST((SELECT pg_catalog.min(created) FROM due), (SELECT pg_catalog.min(created) FROM later),
             (SELECT pg_catalog.min(created) FROM suspect)) AS oldest_unsent,
       LEAST((SELECT pg_catalog.count(*) FROM due) OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM suspect WHERE expired), 10000) AS eligible,
       LEAST((SELECT pg_catalog.count(*) FROM later WHERE claimed) OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM suspect WHERE NOT expired), 10000) AS in_flight,
       LEAST((SELECT pg_catalog.count(*) FROM due WHERE claimed) OPERATOR(pg_catalog.+) (SELECT pg_catalog.count(*) FROM suspect WHERE expired), 10000) AS expired_leases,
       (SELECT pg_catalog.count(*) FROM failed) AS failed,
       (SELECT COALESCE(pg_catalog.sum(s.n_tup_ins), 0)::pg_catalog.int8 FROM pg_catalog.pg_stat_user_tables AS s
        WHERE s.relid OPERATOR(pg_catalog.=) '"public"."outbox"'::pg_catalog.regclass
           OR s.relid OPERATOR(pg_catalog.=) ANY (
                  SELECT t.relid FROM pg_catalog.pg_partition_tree('"public"."outbox"'::pg_catalog.regclass) AS t)) AS inserted;

-- claim, parameters 1 2 3 5
WITH candidate AS MATERIALIZED (
    SELECT o."id" AS id, o."event_id" AS partition_key,
           (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END) AS due,
           o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' AS reclaimed
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."attempts" OPERATOR(pg_catalog.<) 2)
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.>=) $3::pg_catalog.timestamptz
    ORDER BY (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END),
             o."id"
    LIMIT 25
    FOR UPDATE SKIP LOCKED
)
UPDATE "public"."outbox" AS o
SET "status" = 'INPROGRESS',
    "generation" = COALESCE(o."generation", 0) OPERATOR(pg_catalog.+) 1,
    "attempts" = COALESCE(o."attempts", 0) OPERATOR(pg_catalog.+) (CASE WHEN (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" END)
          OPERATOR(pg_catalog.<@) (SELECT $4::pg_catalog.text::pg_catalog.tstzmultirange)
          THEN 0 ELSE 1 END),
    "claim_token" = (SELECT $1::pg_catalog.text::pg_catalog.uuid),
    "lease_until" = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval
 FROM candidate AS c
WHERE o."id" OPERATOR(pg_catalog.=) c.id AND o."event_id" OPERATOR(pg_catalog.=) c.partition_key
RETURNING o."id", o."generation", o."attempts"::pg_catalog.int8, o."next_attempt_at",
          COALESCE(pg_catalog.octet_length(o."payload"), 0), o."event_id"::pg_catalog.text,
          (SELECT pg_catalog.min(w.due) FROM candidate AS w),
          COALESCE((SELECT pg_catalog.jsonb_object_agg(w.id::pg_catalog.text, true) FROM candidate AS w WHERE w.reclaimed)
                   OPERATOR(pg_catalog.?) o."id"::pg_catalog.text, false);

-- durable, parameters
SELECT pg_catalog.statement_timestamp(),
       pg_catalog.pg_postmaster_start_time()::pg_catalog.text,
       EXISTS (
           SELECT FROM "public"."outbox" AS o
           WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."attempts" OPERATOR(pg_catalog.>=) 2
             AND o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()),
       CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) ANY ('{on,remote_apply}') THEN ''
            ELSE pg_catalog.set_config('synchronous_commit', 'on', true)
       END;

-- read, parameters 1 2 4
SELECT o."id", o."event_id"::pg_catalog.text, o."event_id"::pg_catalog.text, o."topic"::pg_catalog.text, o."key"::pg_catalog.text,
       o."payload", o."headers"::pg_catalog.text, o."created_at",
       NULL::pg_catalog.text, NULL::pg_catalog.text[]
FROM "public"."outbox" AS o
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND o."event_id" OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($3::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p LIMIT 1)
  AND o."event_id" OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($3::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o."id", o."event_id") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.text[]::pg_catalog.uuid[]) AS c (id, partition_key)
      )) IS TRUE
  AND o."claim_token" OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid);

-- recover, parameters 1 2 3
UPDATE "public"."outbox" AS o
SET "status" = 'READY', "lease_until" = NULL,
    "attempts" = GREATEST(o."attempts" OPERATOR(pg_catalog.-) 1, 0),
    "claim_token" = NULL
WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."attempts" OPERATOR(pg_catalog.<) 2)
  AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
      OPERATOR(pg_catalog.>) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval)
  AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
      OPERATOR(pg_catalog.<=) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $3::pg_catalog.interval)
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o."claim_token" OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.uuid
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- recover_suspects, parameters 1 2 3
UPDATE "public"."outbox" AS o
SET "status" = 'READY', "lease_until" = NULL,
    "attempts" = GREATEST(o."attempts" OPERATOR(pg_catalog.-) 1, 0),
    "claim_token" = NULL
WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."attempts" OPERATOR(pg_catalog.>=) 2
  AND o."lease_until" OPERATOR(pg_catalog.>) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval)
  AND o."lease_until" OPERATOR(pg_catalog.<=) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $3::pg_catalog.interval)
  AND o."claim_token" OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.uuid
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- refused, parameters 2 4
SELECT o."id", o."event_id"::pg_catalog.text, o."status"::pg_catalog.text, o."generation", o."claim_token"::pg_catalog.text,
       o."attempts"::pg_catalog.int8
FROM "public"."outbox" AS o
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.int8[])
  AND o."event_id" OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($2::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p LIMIT 1)
  AND o."event_id" OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($2::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o."id", o."event_id") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($1::pg_catalog.int8[], $2::pg_catalog.text[]::pg_catalog.uuid[]) AS c (id, partition_key)
      )) IS TRUE;

-- release, parameters 1 2 3 4 5
UPDATE "public"."outbox" AS o
SET "status" = 'READY', "lease_until" = NULL,
    "claim_token" = NULL,
    "attempts" = GREATEST(o."attempts" OPERATOR(pg_catalog.-) 1, 0),
    "next_attempt_at" = CASE WHEN $5::pg_catalog.bool THEN pg_catalog.statement_timestamp() ELSE o."next_attempt_at" END
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND o."event_id" OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p LIMIT 1)
  AND o."event_id" OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o."id", o."event_id") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::pg_catalog.int8[], $4::pg_catalog.text[]::pg_catalog.uuid[]) AS c (id, partition_key)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o."claim_token" OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- renew, parameters 1 2 3 4 5
UPDATE "public"."outbox" AS o
SET "lease_until" = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) $5::pg_catalog.interval
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND o."event_id" OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p LIMIT 1)
  AND o."event_id" OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o."id", o."event_id") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::pg_catalog.int8[], $4::pg_catalog.text[]::pg_catalog.uuid[]) AS c (id, partition_key)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o."claim_token" OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- replay, parameters 2 4 5
UPDATE "public"."outbox" AS o
SET "status" = 'READY', "lease_until" = NULL,
    "generation" = COALESCE(o."generation", 0) OPERATOR(pg_catalog.+) 1,
    "claim_token" = NULL,
    "attempts" = 0,
    "failed_at" = NULL,
    "next_attempt_at" = pg_catalog.statement_timestamp()
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.int8[])
  AND o."event_id" OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($2::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p LIMIT 1)
  AND o."event_id" OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($2::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o."id", o."event_id") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($1::pg_catalog.int8[], $2::pg_catalog.text[]::pg_catalog.uuid[]) AS c (id, partition_key)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'FAILED'
  AND o."failed_at" OPERATOR(pg_catalog.<=) $3::pg_catalog.timestamptz
RETURNING o."id", o."event_id"::pg_catalog.text;

-- settle_failed, parameters 1 2 3 4 5
UPDATE "public"."outbox" AS o
SET "status" = 'FAILED', "lease_until" = NULL,
    "last_error" = $5::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o."id"::pg_catalog.text,
    "failed_at" = pg_catalog.statement_timestamp()
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND o."event_id" OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p LIMIT 1)
  AND o."event_id" OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o."id", o."event_id") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::pg_catalog.int8[], $4::pg_catalog.text[]::pg_catalog.uuid[]) AS c (id, partition_key)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o."claim_token" OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- settle_retry, parameters 1 2 3 4 5 6
UPDATE "public"."outbox" AS o
SET "status" = 'READY', "lease_until" = NULL,
    "claim_token" = NULL,
    "last_error" = $6::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o."id"::pg_catalog.text,
    "next_attempt_at" = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) (
        ($5::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o."id"::pg_catalog.text)::pg_catalog.float8
        OPERATOR(pg_catalog.*) '1 microsecond'::pg_catalog.interval)
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND o."event_id" OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p LIMIT 1)
  AND o."event_id" OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o."id", o."event_id") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::pg_catalog.int8[], $4::pg_catalog.text[]::pg_catalog.uuid[]) AS c (id, partition_key)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o."claim_token" OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- settle_sent, parameters 1 2 3 4
UPDATE "public"."outbox" AS o
SET "status" = 'SENT', "lease_until" = NULL, "sent_at" = pg_catalog.statement_timestamp()
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND o."event_id" OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p LIMIT 1)
  AND o."event_id" OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o."id", o."event_id") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::pg_catalog.int8[], $4::pg_catalog.text[]::pg_catalog.uuid[]) AS c (id, partition_key)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o."claim_token" OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- suspects, parameters 1 2 3 4 5
WITH head AS MATERIALIZED (
    SELECT o."attempts" AS tries
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."attempts" OPERATOR(pg_catalog.>=) 2
      AND o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
    ORDER BY o."attempts" DESC, o."lease_until", o."id"
    LIMIT 1
), candidate AS MATERIALIZED (
    SELECT o."id" AS id, o."event_id" AS partition_key, o."lease_until" AS due
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."attempts" OPERATOR(pg_catalog.>=) 2
      AND o."attempts" OPERATOR(pg_catalog.=) (SELECT tries FROM head)
      AND o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
    ORDER BY o."lease_until", o."id"
    LIMIT (SELECT CASE WHEN tries OPERATOR(pg_catalog.>=) $4::pg_catalog.int8 THEN 1
                       ELSE GREATEST(25 OPERATOR(pg_catalog.>>) LEAST(tries OPERATOR(pg_catalog.-) 1, 30)::pg_catalog.int4, 1) END
           FROM head)
    FOR UPDATE SKIP LOCKED
)
UPDATE "public"."outbox" AS o
SET "generation" = COALESCE(o."generation", 0) OPERATOR(pg_catalog.+) 1,
    "attempts" = COALESCE(o."attempts", 0) OPERATOR(pg_catalog.+) (CASE WHEN (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" END)
          OPERATOR(pg_catalog.<@) (SELECT $5::pg_catalog.text::pg_catalog.tstzmultirange)
          THEN 0 ELSE 1 END),
    "claim_token" = (CASE WHEN (SELECT pg_catalog.count(*) FROM candidate) OPERATOR(pg_catalog.=) 1
        THEN $3::pg_catalog.text ELSE $1::pg_catalog.text END)::pg_catalog.uuid,
    "lease_until" = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval
FROM candidate AS c
WHERE o."id" OPERATOR(pg_catalog.=) c.id AND o."event_id" OPERATOR(pg_catalog.=) c.partition_key
RETURNING o."id", o."generation", o."attempts"::pg_catalog.int8, o."next_attempt_at",
          COALESCE(pg_catalog.octet_length(o."payload"), 0), o."event_id"::pg_catalog.text,
          (SELECT pg_catalog.min(w.due) FROM candidate AS w),
          true;

-- uncharge, parameters 1 2 3 4 5
UPDATE "public"."outbox" AS o
SET "attempts" = o."attempts" OPERATOR(pg_catalog.-) 1
WHERE o."id" OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o."id", o."generation") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND o."event_id" OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p LIMIT 1)
  AND o."event_id" OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($4::pg_catalog.text[]::pg_catalog.uuid[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o."id", o."event_id") OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::pg_catalog.int8[], $4::pg_catalog.text[]::pg_catalog.uuid[]) AS c (id, partition_key)
      )) IS TRUE
  AND (o."status"::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o."claim_token" OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o."lease_until" OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
  AND o."attempts"::pg_catalog.text OPERATOR(pg_catalog.=) ($5::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o."id"::pg_catalog.text)
  AND o."attempts" OPERATOR(pg_catalog.>) 0;

-- indexes
CREATE INDEX "outbox_queue" ON "public"."outbox"
    ((CASE WHEN "status" = 'INPROGRESS' THEN "lease_until" ELSE "next_attempt_at" END), "id")
    WHERE "status" = ANY ('{"READY","INPROGRESS"}') AND ("status" <> 'INPROGRESS' OR "attempts" < 2);
CREATE INDEX "outbox_suspects" ON "public"."outbox" ("attempts" DESC, "lease_until", "id")
    WHERE "status" = 'INPROGRESS' AND "attempts" >= 2;
CREATE INDEX "outbox_failed" ON "public"."outbox" ("failed_at", "id") WHERE "status" = 'FAILED';
