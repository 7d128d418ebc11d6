-- Looks once at rows of which a guard refused some, to tell why: $2 are ids.
SELECT o.id, o.status::pg_catalog.text, /*generationvalue*/o.generation, /*tokenvalue*/o.claim_token::pg_catalog.text,
       /*attemptsvalue*/o.attempts
FROM /*table*/public.outbox AS o
WHERE o.id OPERATOR(pg_catalog.=) ANY ($2::/*idtype*/pg_catalog.int8[])/*if whole*//*else
  AND o.partition_key OPERATOR(pg_catalog.>=) (SELECT pg_catalog.min(p) FROM unnest($4::pg_catalog.text[]::{partitiontype}[]) AS p)
  AND o.partition_key OPERATOR(pg_catalog.<=) (SELECT pg_catalog.max(p) FROM unnest($4::pg_catalog.text[]::{partitiontype}[]) AS p)*/;
