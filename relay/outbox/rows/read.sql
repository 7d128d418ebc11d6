-- Reads what was claimed, after the claim's commit, holding no lock: $1 is the claim's token, $2 ids, $3 generations. A row
-- that is not this claim's any more, because the relay was stopped in between, does not come: its token says so, and where
-- there is none the guard of settle_sent.sql.
SELECT o.id, /*partitionvalue*/NULL::pg_catalog.text, o.event_id::pg_catalog.text, /*topicvalue*/o.topic::pg_catalog.text, /*keyvalue*/o.key::pg_catalog.text,
       /*payload*/o.payload, /*headersvalue*/o.headers::pg_catalog.text, /*createdvalue*/o.created_at,
       /*contenttypevalue*/NULL::pg_catalog.text, /*extravalues*/NULL::pg_catalog.text[]
FROM /*table*/public.outbox AS o
WHERE /*if token*/o.id OPERATOR(pg_catalog.=) ANY ($2::/*idtype*/pg_catalog.int8[])/*if whole*//*else
  AND o.partition_key OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($4::pg_catalog.text[]::{partitiontype}[]) AS p ORDER BY p LIMIT 1)
  AND o.partition_key OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($4::pg_catalog.text[]::{partitiontype}[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o.id, o.partition_key) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::{idtype}[], $4::pg_catalog.text[]::{partitiontype}[]) AS c (id, partition_key)
      )) IS TRUE*/
  AND o.claim_token OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::/*tokentype*/pg_catalog.uuid)/*else <guard>*/;
