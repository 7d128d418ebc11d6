-- claim, parameters 1 2 5
WITH aged AS MATERIALIZED (
    SELECT o."id" AS id,
           (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END) AS due,
           o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' AS reclaimed
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."attempts" OPERATOR(pg_catalog.<) 2)
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
    ORDER BY (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END), o."id"
    LIMIT 2
    FOR UPDATE SKIP LOCKED
), urgent AS MATERIALIZED (
    SELECT o."id" AS id,
           (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END) AS due,
           o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' AS reclaimed
    FROM "public"."outbox" AS o
    WHERE o."status" OPERATOR(pg_catalog.=) ANY ('{"READY","INPROGRESS"}')
      AND (o."status" OPERATOR(pg_catalog.<>) 'INPROGRESS' OR o."attempts" OPERATOR(pg_catalog.<) 2)
      AND (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END)
          OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND NOT COALESCE((SELECT pg_catalog.jsonb_object_agg(a.id::pg_catalog.text, true) FROM aged AS a)
                       OPERATOR(pg_catalog.?) o."id"::pg_catalog.text, false)
    ORDER BY o."priority" DESC,
             (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" ELSE o."next_attempt_at" END), o."id"
    LIMIT (SELECT 25 OPERATOR(pg_catalog.-) pg_catalog.count(*) FROM aged)
    FOR UPDATE SKIP LOCKED
), candidate AS MATERIALIZED (
    SELECT * FROM aged UNION ALL SELECT * FROM urgent
)
UPDATE "public"."outbox" AS o
SET "status" = 'INPROGRESS',
    "generation" = COALESCE(o."generation", 0) OPERATOR(pg_catalog.+) 1,
    "attempts" = COALESCE(o."attempts", 0) OPERATOR(pg_catalog.+) (CASE WHEN (CASE WHEN o."status" OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o."lease_until" END)
          OPERATOR(pg_catalog.<@) (SELECT $3::pg_catalog.text::pg_catalog.tstzmultirange)
          THEN 0 ELSE 1 END),
    "claim_token" = (SELECT $1::pg_catalog.text::pg_catalog.uuid),
    "lease_until" = pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) $2::pg_catalog.interval
WHERE o."id" OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT c.id FROM candidate AS c))
RETURNING o."id", o."generation", o."attempts"::pg_catalog.int8, o."next_attempt_at",
          COALESCE(pg_catalog.octet_length(o."payload"), 0), NULL::pg_catalog.text,
          (SELECT pg_catalog.min(w.due) FROM candidate AS w),
          COALESCE((SELECT pg_catalog.jsonb_object_agg(w.id::pg_catalog.text, true) FROM candidate AS w WHERE w.reclaimed)
                   OPERATOR(pg_catalog.?) o."id"::pg_catalog.text, false),
          0 OPERATOR(pg_catalog.-) o."priority"::pg_catalog.int8;

-- indexes
CREATE INDEX "outbox_priority" ON "public"."outbox"
    ("priority" DESC, (CASE WHEN "status" = 'INPROGRESS' THEN "lease_until" ELSE "next_attempt_at" END), "id")
    WHERE "status" = ANY ('{"READY","INPROGRESS"}') AND ("status" <> 'INPROGRESS' OR "attempts" < 2);
