-- One ordered claim of a table at a time; the lock ends with the transaction. It is a statement of its own: one that had
-- waited for the lock would see the table as it was before the wait.
SELECT pg_catalog.pg_advisory_xact_lock(
    (/*orderclass*/1919249775::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32)
    OPERATOR(pg_catalog.|) /*regclass*/'public.outbox'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8);
