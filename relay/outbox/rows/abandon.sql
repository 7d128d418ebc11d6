-- Ends suspects as FAILED that have used up their attempts and were alone when their last lease ran out: $1 is the number
-- of attempts. Only the end of such a claim says that this very row kills its relays; its token, a uuid of version 8, marks
-- it, unless the lease ended in an outage of the database: $5, see claim.sql. Nobody knows whether the broker has the record.
WITH candidate AS MATERIALIZED (
    SELECT o.id AS id/*if whole*//*else , o.partition_key AS partition_key*/
    FROM /*table*/public.outbox AS o
    WHERE /*suspected:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o.attempts OPERATOR(pg_catalog.>=) 2/*:suspected*/
      AND /*counter*/o.attempts OPERATOR(pg_catalog.>=) $1::pg_catalog.int8
      AND o.lease_until OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()
      AND (/*lapsed:*/(CASE WHEN o.status OPERATOR(pg_catalog.=) 'INPROGRESS' THEN o.lease_until END)
          OPERATOR(pg_catalog.<@) (SELECT $5::pg_catalog.text::pg_catalog.tstzmultirange)/*:lapsed*/) IS NOT TRUE
      AND pg_catalog.substr(o.claim_token::pg_catalog.text, 15, 1) OPERATOR(pg_catalog.=) '8'
    LIMIT /*limit*/500
    FOR UPDATE SKIP LOCKED
)
UPDATE /*table*/public.outbox AS o
SET /*status*/status = /*failed*/'FAILED', /*lease_until*/lease_until = NULL,
    /*if lasterror*//*last_error*/last_error = 'abandoned: its relays ended while they held this event, the last one while it held nothing else; it may have been published',/*end*/
    /*failedat*/failed_at = pg_catalog.statement_timestamp()
FROM candidate AS c
WHERE o.id OPERATOR(pg_catalog.=) c.id/*if whole*//*else AND o.partition_key OPERATOR(pg_catalog.=) c.partition_key*/;
