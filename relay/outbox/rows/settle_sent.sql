-- Ends rows as published: $1 is the claim's token, $2 ids, $3 their generations, place by place.
--
-- The guard: a row is changed only while it is INPROGRESS under this very claim and its lease has not ended at the moment
-- at which the row is looked at.
--
-- Its form leaves the planner one way, the keys, in their order: so the work is that of the batch, and two statements over
-- the same rows never wait for each other in a circle. A join with the arrays has others, and since the guard seems to let
-- hardly a row through, reading all of the table in front of it looks cheap. IS TRUE keeps the comparison of generations a
-- filter, a hash that is looked up per row. The concatenation hides the status: written plainly it implies the queue
-- index's predicate, and with statistics that know no INPROGRESS row all of that index is read. The token stands in a
-- SELECT of its own because it is then read once, and not for every row.
--
-- The token stays: it is how a relay that lost this statement's answer knows its own. Where nothing says when a row was
-- published, its due time does, which means nothing else then.
UPDATE /*table*/public.outbox AS o
SET /*status*/status = /*sent*/'SENT', /*lease_until*/lease_until = NULL, /*sentat*/sent_at = pg_catalog.statement_timestamp()
WHERE /*guard:*/o.id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])
  AND ((o.id, o.generation) OPERATOR(pg_catalog.=) ANY (
          SELECT c.id, c.generation
          FROM unnest($2::pg_catalog.int8[], $3::pg_catalog.int8[]) AS c (id, generation)
      )) IS TRUE
  AND (o.status::pg_catalog.text OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) 'INPROGRESS'
  AND o.claim_token OPERATOR(pg_catalog.=) (SELECT $1::pg_catalog.text::pg_catalog.uuid)
  AND o.lease_until OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()/*:guard*/;
