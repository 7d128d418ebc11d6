-- backlog
WITH due AS MATERIALIZED (
    SELECT o.status, o.created_at,
           (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END) AS since
    FROM "Shop ""1"""."out; DROP TABLE ""box""" AS o
    WHERE o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
    ORDER BY (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END), o.id
    LIMIT 10000
), later AS MATERIALIZED (
    SELECT o.status, o.created_at
    FROM "Shop ""1"""."out; DROP TABLE ""box""" AS o
    WHERE o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
          OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()
    ORDER BY (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END), o.id
    LIMIT 10000
), failed AS MATERIALIZED (
    SELECT 1 FROM "Shop ""1"""."out; DROP TABLE ""box""" AS o WHERE o.status OPERATOR(pg_catalog.=) 'FAILED' LIMIT 10000
)
SELECT pg_catalog.statement_timestamp() AS sampled_at,
       (SELECT pg_catalog.min(since) FROM due) AS oldest_eligible,
       LEAST((SELECT pg_catalog.min(created_at) FROM due), (SELECT pg_catalog.min(created_at) FROM later)) AS oldest_unsent,
       (SELECT pg_catalog.count(*) FROM due) AS eligible,
       (SELECT pg_catalog.count(*) FROM later WHERE status OPERATOR(pg_catalog.=) 'INPROGRESS') AS in_flight,
       (SELECT pg_catalog.count(*) FROM due WHERE status OPERATOR(pg_catalog.=) 'INPROGRESS') AS expired_leases,
       (SELECT pg_catalog.count(*) FROM failed) AS failed;

-- claim
WITH candidate AS MATERIALIZED (
    SELECT o.id,
           (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END) AS due,
           o.status OPERATOR(pg_catalog.=) 'INPROGRESS' AS reclaimed
    FROM "Shop ""1"""."out; DROP TABLE ""box""" AS o
    WHERE o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
      AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
          OPERATOR(pg_catalog.>=) $3::pg_catalog.timestamptz
    ORDER BY (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END), o.id
    LIMIT 25
    FOR UPDATE SKIP LOCKED
)
UPDATE "Shop ""1"""."out; DROP TABLE ""box""" AS o
SET status = 'INPROGRESS',
    generation = o.generation OPERATOR(pg_catalog.+) 1,
    attempts = o.attempts OPERATOR(pg_catalog.+) 1,
    claim_token = $1::pg_catalog.uuid,
    lease_until = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval
FROM candidate AS c
WHERE o.id OPERATOR(pg_catalog.=) c.id
RETURNING o.id, o.generation, o.attempts, c.due, c.reclaimed, COALESCE(pg_catalog.octet_length(o.payload), 0);

-- durable
SELECT pg_catalog.statement_timestamp(),
       CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) ANY ('{on,remote_apply}') THEN ''
            ELSE pg_catalog.set_config('synchronous_commit', 'on', true)
       END;

-- read
SELECT o.id, o.event_id, o.topic, o.key, o.payload, o.headers, o.created_at
FROM "Shop ""1"""."out; DROP TABLE ""box""" AS o
WHERE o.id OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.int8[])
  AND o.claim_token OPERATOR(pg_catalog.=) $2::pg_catalog.uuid;

-- recover
UPDATE "Shop ""1"""."out; DROP TABLE ""box""" AS o
SET status = 'READY', lease_until = NULL, claim_token = NULL,
    attempts = GREATEST(o.attempts OPERATOR(pg_catalog.-) 1, 0)
WHERE o.status OPERATOR(pg_catalog.=) ANY ('{READY,INPROGRESS}')
  AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
      OPERATOR(pg_catalog.>) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval)
  AND (CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until ELSE o.next_attempt_at END)
      OPERATOR(pg_catalog.<=) (pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $3::pg_catalog.interval)
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();

-- refused
SELECT o.id, o.status, o.generation, o.claim_token, o.attempts
FROM "Shop ""1"""."out; DROP TABLE ""box""" AS o
WHERE o.id OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.int8[]);

-- release
UPDATE "Shop ""1"""."out; DROP TABLE ""box""" AS o
SET status = 'READY', lease_until = NULL, claim_token = NULL,
    attempts = GREATEST(o.attempts OPERATOR(pg_catalog.-) 1, 0),
    next_attempt_at = CASE WHEN $4::pg_catalog.bool THEN pg_catalog.statement_timestamp() ELSE o.next_attempt_at END
WHERE o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
RETURNING o.id;

-- renew
UPDATE "Shop ""1"""."out; DROP TABLE ""box""" AS o
SET lease_until = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) $4::pg_catalog.interval
WHERE o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
RETURNING o.id;

-- settle_failed
UPDATE "Shop ""1"""."out; DROP TABLE ""box""" AS o
SET status = 'FAILED', lease_until = NULL, failed_at = pg_catalog.statement_timestamp(),
    last_error = $4::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o.id::pg_catalog.text
WHERE o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
RETURNING o.id;

-- settle_retry
UPDATE "Shop ""1"""."out; DROP TABLE ""box""" AS o
SET status = 'READY', lease_until = NULL, claim_token = NULL,
    last_error = $5::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o.id::pg_catalog.text,
    next_attempt_at = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) (
        ($4::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o.id::pg_catalog.text)::pg_catalog.float8
        OPERATOR(pg_catalog.*) '1 microsecond'::pg_catalog.interval)
WHERE o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
RETURNING o.id;

-- settle_sent
UPDATE "Shop ""1"""."out; DROP TABLE ""box""" AS o
SET status = 'SENT', lease_until = NULL, sent_at = pg_catalog.statement_timestamp()
WHERE o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
RETURNING o.id;

-- uncharge
UPDATE "Shop ""1"""."out; DROP TABLE ""box""" AS o
SET attempts = o.attempts OPERATOR(pg_catalog.-) 1
WHERE o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation, o.attempts) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation, c.attempts
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[], $4::pg_catalog.int4[]) AS c (id, generation, attempts)
      )) IS TRUE
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
  AND o.attempts OPERATOR(pg_catalog.>) 0
RETURNING o.id;

-- index
CREATE INDEX "out; DROP TABLE ""box""_queue" ON "Shop ""1"""."out; DROP TABLE ""box"""
    ((CASE WHEN status = 'INPROGRESS' THEN lease_until ELSE next_attempt_at END), id)
    WHERE status IN ('READY', 'INPROGRESS');

CREATE INDEX "out; DROP TABLE ""box""_failed" ON "Shop ""1"""."out; DROP TABLE ""box""" (failed_at, id) WHERE status = 'FAILED';
