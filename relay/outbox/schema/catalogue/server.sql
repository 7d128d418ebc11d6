-- How the server runs the relay's statements. What a relay sets for itself is read back as it is in effect.
SELECT current_user::text AS role,
       current_setting('server_version') AS version,
       pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS read_only,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('transaction_isolation') AS isolation,
       current_setting('statement_timeout') AS statement_timeout;
