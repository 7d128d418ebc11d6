-- Looks once at rows of which a guard refused some, to tell why: $2 are ids.
SELECT o.id, /*partitionvalue*/NULL::pg_catalog.text, o.status::pg_catalog.text, /*generationvalue*/o.generation, /*tokenvalue*/o.claim_token::pg_catalog.text,
       /*attemptsvalue*/o.attempts
FROM /*table*/public.outbox AS o
WHERE o.id OPERATOR(pg_catalog.=) ANY ($2::/*idtype*/pg_catalog.int8[])/*if whole*//*else
  AND o.partition_key OPERATOR(pg_catalog.>=) (SELECT p FROM unnest($4::pg_catalog.text[]::{partitiontype}[]) AS p ORDER BY p LIMIT 1)
  AND o.partition_key OPERATOR(pg_catalog.<=) (SELECT p FROM unnest($4::pg_catalog.text[]::{partitiontype}[]) AS p ORDER BY p DESC LIMIT 1)
  AND ((o.id, o.partition_key) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.partition_key
          FROM unnest($2::{idtype}[], $4::pg_catalog.text[]::{partitiontype}[]) AS c (id, partition_key)
      )) IS TRUE*/;
