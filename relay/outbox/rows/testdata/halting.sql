-- claim, parameters 1 2 5
WITH blocked AS MATERIALIZED (
    SELECT COALESCE(pg_catalog.jsonb_object_agg(g.key, g.first), '{}') AS firsts
    FROM (
        SELECT b.key, pg_catalog.min(b.place) AS first
        FROM (
            SELECT o."key"::pg_catalog.text AS key, o."id" AS place
            FROM "public"."outbox" AS o
            WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."attempts" OPERATOR(pg_catalog.<) 2)
              AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
                  OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()
            UNION ALL
            SELECT o."key"::pg_catalog.text, o."id"
            FROM "public"."outbox" AS o
            WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."attempts" OPERATOR(pg_catalog.<) 2)
              AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END) IS NULL
            UNION ALL
            SELECT o."key"::pg_catalog.text, o."id"
            FROM "public"."outbox" AS o
            WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."attempts" OPERATOR(pg_catalog.>=) 2
            UNION ALL
            SELECT o."key"::pg_catalog.text, o."id"
            FROM "public"."outbox" AS o
            WHERE o."status" OPERATOR(pg_catalog.=) 'FAILED'
        ) AS b
        WHERE b.key IS NOT NULL
        GROUP BY b.key
    ) AS g
), due AS MATERIALIZED (
    SELECT o."id" AS id, o."key"::pg_catalog.text AS key, o."id" AS place,
           (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END) AS due
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."attempts" OPERATOR(pg_catalog.<) 2)
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND COALESCE(((SELECT firsts FROM blocked) OPERATOR(pg_catalog.->) o."key"::pg_catalog.text)::pg_catalog.int8
                   OPERATOR(pg_catalog.>) o."id", true)
    ORDER BY (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END), o."id"
    LIMIT 25
), top AS MATERIALIZED (
    SELECT d.key, pg_catalog.max(d.place) AS upto FROM due AS d WHERE d.key IS NOT NULL GROUP BY d.key
), free AS MATERIALIZED (
    SELECT o."id" AS id,
           o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' AS reclaimed
    FROM "public"."outbox" AS o
    WHERE o."id" OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT d.id FROM due AS d WHERE d.key IS NULL))
    FOR UPDATE OF o SKIP LOCKED
), closure AS MATERIALIZED (
    SELECT r.id AS id, t.key AS key, r.place AS place
    FROM top AS t
    CROSS JOIN LATERAL (
        SELECT o."id" AS id, o."id" AS place
        FROM "public"."outbox" AS o
        WHERE o."key" OPERATOR(pg_catalog.=) t.key::pg_catalog.text AND o."id" OPERATOR(pg_catalog.<=) t.upto
          AND o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
        ORDER BY o."id"
        LIMIT 25
    ) AS r
    ORDER BY r.place
    LIMIT (SELECT 25 OPERATOR(pg_catalog.-) pg_catalog.count(*) FROM free)
), locked AS MATERIALIZED (
    SELECT o."id" AS id, o."key"::pg_catalog.text AS key, o."id" AS place,
           o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' AS reclaimed
    FROM "public"."outbox" AS o
    WHERE o."id" OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT c.id FROM closure AS c))
      AND o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
    FOR UPDATE OF o SKIP LOCKED
), missed AS MATERIALIZED (
    SELECT COALESCE(pg_catalog.jsonb_object_agg(g.key, g.first), '{}') AS firsts
    FROM (SELECT c.key, pg_catalog.min(c.place) AS first
          FROM closure AS c
          WHERE NOT COALESCE((SELECT pg_catalog.jsonb_object_agg(l.id::pg_catalog.text, true) FROM locked AS l)
                             OPERATOR(pg_catalog.?) (c.id::pg_catalog.text), false)
          GROUP BY c.key) AS g
), keyed AS MATERIALIZED (
    SELECT l.id, l.reclaimed FROM locked AS l
    WHERE COALESCE(((SELECT firsts FROM missed) OPERATOR(pg_catalog.->) l.key)::pg_catalog.int8 OPERATOR(pg_catalog.>) l.place, true)
)
UPDATE "public"."outbox" AS o
SET "status" = 'INPROGRESS',
    "generation" = COALESCE(o."generation", 0) OPERATOR(pg_catalog.+) 1,
    "attempts" = COALESCE(o."attempts", 0) OPERATOR(pg_catalog.+) (CASE WHEN (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" END)
          OPERATOR(pg_catalog.<@) (SELECT $3::pg_catalog.text::pg_catalog.tstzmultirange)
          THEN 0 ELSE 1 END),
    "claim_token" = (SELECT $1::pg_catalog.text::pg_catalog.uuid),
    "lease_until" = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval
WHERE o."id" OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT f.id FROM free AS f UNION ALL SELECT k.id FROM keyed AS k))
RETURNING o."id", o."generation", o."attempts"::pg_catalog.int8, o."next_attempt_at",
          COALESCE(pg_catalog.octet_length(o."payload"), 0), NULL::pg_catalog.text,
          (SELECT pg_catalog.min(w.due) FROM due AS w),
          COALESCE((SELECT pg_catalog.jsonb_object_agg(w.id::pg_catalog.text, true)
                    FROM (SELECT f.id, f.reclaimed FROM free AS f UNION ALL SELECT k.id, k.reclaimed FROM keyed AS k) AS w WHERE w.reclaimed)
                   OPERATOR(pg_catalog.?) o."id"::pg_catalog.text, false),
          o."id"::pg_catalog.int8;

-- lock_ordered, parameters
SELECT pg_catalog.pg_advisory_xact_lock(
    (1919249775::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32)
    OPERATOR(pg_catalog.|) '"public"."outbox"'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8);

-- suspects, parameters 1 2 3 4 5
WITH head AS MATERIALIZED (
    SELECT o."attempts" AS tries
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."attempts" OPERATOR(pg_catalog.>=) 2
      AND o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND NOT EXISTS (SELECT FROM "public"."outbox" AS e
                      WHERE e."key" OPERATOR(pg_catalog.=) o."key" AND e."id" OPERATOR(pg_catalog.<) o."id"
                        AND e."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}'))
      AND NOT EXISTS (SELECT FROM "public"."outbox" AS f
                      WHERE f."key" OPERATOR(pg_catalog.=) o."key" AND f."id" OPERATOR(pg_catalog.<) o."id"
                        AND f."status" OPERATOR(pg_catalog.=) 'FAILED')
    ORDER BY o."attempts" DESC, o."lease_until", o."id"
    LIMIT 1
), candidate AS MATERIALIZED (
    SELECT o."id" AS id, o."lease_until" AS due
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o."attempts" OPERATOR(pg_catalog.>=) 2
      AND o."attempts" OPERATOR(pg_catalog.=) (SELECT tries FROM head)
      AND o."lease_until" OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND NOT EXISTS (SELECT FROM "public"."outbox" AS e
                      WHERE e."key" OPERATOR(pg_catalog.=) o."key" AND e."id" OPERATOR(pg_catalog.<) o."id"
                        AND e."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}'))
      AND NOT EXISTS (SELECT FROM "public"."outbox" AS f
                      WHERE f."key" OPERATOR(pg_catalog.=) o."key" AND f."id" OPERATOR(pg_catalog.<) o."id"
                        AND f."status" OPERATOR(pg_catalog.=) 'FAILED')
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
WHERE o."id" OPERATOR(pg_catalog.=) c.id
RETURNING o."id", o."generation", o."attempts"::pg_catalog.int8, o."next_attempt_at",
          COALESCE(pg_catalog.octet_length(o."payload"), 0), NULL::pg_catalog.text,
          (SELECT pg_catalog.min(w.due) FROM candidate AS w),
          true;

-- indexes
CREATE INDEX "outbox_ordered" ON "public"."outbox" ("key", "id") WHERE "status" = ANY ('{"READY","INPROGRESS"}');
CREATE INDEX "outbox_halted" ON "public"."outbox" ("key", "id") WHERE "status" = 'FAILED';
