-- Makes FAILED rows READY again: $2 ids, $4 their partition keys, $5 the time by which they must have failed, so that one
-- that has failed anew since somebody looked is left alone. They are due now, because an older due time could be below other
-- relays' watermarks, and have all their attempts again. Their generation is a new one: whoever failed them does not own them
-- any more. The reason stays until the next outcome. For the form see settle_sent.sql.
UPDATE /*table*/public.outbox AS o
SET /*status*/status = /*ready*/'READY', /*lease_until*/lease_until = NULL,
    /*if generation*//*generation*/generation = COALESCE(o.generation, 0) OPERATOR(pg_catalog.+) 1,/*end*/
    /*if token*//*claim_token*/claim_token = NULL,/*end*/
    /*if attempts*//*attempts*/attempts = 0,/*end*/
    /*if failedat*//*failed_at*/failed_at = NULL,/*end*/
    /*next_attempt_at*/next_attempt_at = pg_catalog.statement_timestamp()
WHERE o.id OPERATOR(pg_catalog.=) ANY ($2::/*idtype*/pg_catalog.int8[])/*if whole*//*else
  AND o.partition_key OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($4::pg_catalog.text[]::{partitiontype}[]) AS p ORDER BY p LIMIT 1)
  AND o.partition_key OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($4::pg_catalog.text[]::{partitiontype}[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o.id, o.partition_key) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::{idtype}[], $4::pg_catalog.text[]::{partitiontype}[]) AS c (id, partition_key)
      )) IS TRUE*/
  AND (o.status::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) /*failed*/'FAILED'
  AND /*failedvalue*/o.failed_at OPERATOR(pg_catalog.<=) $5::pg_catalog.timestamptz
RETURNING o.id, /*partitionvalue*/NULL::pg_catalog.text;
