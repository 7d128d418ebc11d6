-- Reads what was claimed, after the claim's commit, holding no lock: $1 is the claim's token, $2 ids, $3 generations. A row
-- that is not this claim's any more, because the relay was stopped in between, does not come. For the guard see
-- settle_sent.sql.
SELECT o.id::pg_catalog.text, o.event_id::pg_catalog.text, /*topicvalue*/o.topic::pg_catalog.text, /*keyvalue*/o.key::pg_catalog.text,
       /*payload*/o.payload, /*headersvalue*/o.headers::pg_catalog.text, /*createdvalue*/o.created_at,
       /*contenttypevalue*/NULL::pg_catalog.text, /*extravalues*/NULL::pg_catalog.text[]
FROM /*table*/public.outbox AS o
WHERE /*guard:*/o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.text[]::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.text[]::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()/*:guard*/;
