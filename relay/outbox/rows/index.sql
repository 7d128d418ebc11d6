-- The queue: what is not done, by the time at which it becomes claimable. The order of claim.sql is this index's, so a
-- claim reads as many entries as it takes rows.
CREATE INDEX /*queue*/outbox_queue ON /*table*/public.outbox
    ((CASE WHEN status = 'INPROGRESS' THEN lease_until ELSE next_attempt_at END), id)
    WHERE status IN ('READY', 'INPROGRESS');

-- FAILED rows are few and are looked for often; rows of any other status cost this index nothing.
CREATE INDEX /*failed*/outbox_failed ON /*table*/public.outbox (failed_at, id) WHERE status = 'FAILED';
