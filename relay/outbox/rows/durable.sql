-- Runs in the claim's own transaction, in front of it: a claim that the server may forget is no claim, because its
-- generation would be given out again. Raised for this transaction alone, and never lowered from remote_apply. It also
-- tells the database's time, which server this is (the second fence of a table without a token), and whether suspects
-- wait, which only suspects.sql takes.
SELECT pg_catalog.statement_timestamp(),
       pg_catalog.pg_postmaster_start_time()::pg_catalog.text,
       EXISTS (
           SELECT FROM /*table*/public.outbox AS o
           WHERE /*suspected:*/o.status OPERATOR(pg_catalog.=) 'INPROGRESS'
      AND o.attempts OPERATOR(pg_catalog.>=) 2/*:suspected*/
             AND o.lease_until OPERATOR(pg_catalog.<=) pg_catalog.statement_timestamp()),
       CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) ANY ('{on,remote_apply}') THEN ''
            ELSE pg_catalog.set_config('synchronous_commit', 'on', true)
       END;
