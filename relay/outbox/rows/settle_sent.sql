-- Ends rows as published: $1 is the claim's token, $2 ids, $3 their generations. The ids are sorted, so that two statements
-- over the same rows lock them in the same order and never wait for each other.
--
-- The guard: a row is changed only while it is INPROGRESS under this very claim and its lease has not ended at the moment
-- at which the row is looked at. The concatenation hides the status from the planner: written plainly it implies the queue
-- index's predicate, and with statistics that know no INPROGRESS row the planner reads that whole index instead of
-- looking up the keys.
--
-- The token stays: it is how a relay that lost this statement's answer knows its own.
UPDATE /*table*/public.outbox AS o
SET status = 'SENT', lease_until = NULL, sent_at = pg_catalog.statement_timestamp()
FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
WHERE o.id OPERATOR(pg_catalog.=) c.id
  AND (o.status OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.generation OPERATOR(pg_catalog.=) c.generation
  AND o.claim_token OPERATOR(pg_catalog.=) $1::pg_catalog.uuid
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
RETURNING o.id;
