o.id OPERATOR(pg_catalog.=) ANY ($2::/*idtype*/pg_catalog.int8[])/*if generation*/
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::/*idtype*/pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE/*end*//*if whole*//*else
  AND o.partition_key OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($4::pg_catalog.text[]::{partitiontype}[]) AS p ORDER BY p LIMIT 1)
  AND o.partition_key OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($4::pg_catalog.text[]::{partitiontype}[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o.id, o.partition_key) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::{idtype}[], $4::pg_catalog.text[]::{partitiontype}[]) AS c (id, partition_key)
      )) IS TRUE*/
  AND (o.status::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) /*claimedstatus*/'INPROGRESS'
  AND /*if token*/o.claim_token OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::/*tokentype*/pg_catalog.uuid)/*else pg_catalog.pg_postmaster_start_time() OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.timestamptz)*/
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
