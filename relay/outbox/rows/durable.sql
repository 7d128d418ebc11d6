-- Runs in the claim's own transaction, in front of it: a claim that the server may forget is no claim, because its
-- generation would be given out again. Raised for this transaction alone, and never lowered from remote_apply.
SELECT pg_catalog.statement_timestamp(),
       CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) ANY ('{on,remote_apply}') THEN ''
            ELSE pg_catalog.set_config('synchronous_commit', 'on', true)
       END;
