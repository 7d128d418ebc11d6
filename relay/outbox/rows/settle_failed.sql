-- Ends rows as FAILED, which is unresolved, visible and repairable: $1 is the claim's token, $2 ids, $3 generations, $5 by
-- id the reason. For the guard, and why the token stays, see settle_sent.sql.
UPDATE /*table*/public.outbox AS o
SET /*status*/status = /*failed*/'FAILED', /*lease_until*/lease_until = NULL,
    /*if lasterror*//*last_error*/last_error = $5::pg_catalog.jsonb OPERATOR(pg_catalog.->>) o.id::pg_catalog.text,/*end*/
    /*failedat*/failed_at = pg_catalog.statement_timestamp()
WHERE /*guard:*/o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()/*:guard*/;
