-- The queue: what is not done, by the time at which it becomes claimable. The order of claim.sql is this index's, so a
-- claim reads as many entries as it takes rows. Rows that were claimed twice and more leave it while they are claimed.
CREATE INDEX /*queue*/outbox_queue ON /*table*/public.outbox
    ((CASE WHEN /*if inprogress*//*status*/status = /*inprogress*/'INPROGRESS'/*else {claim_token} IS NOT NULL*/ THEN /*lease_until*/lease_until ELSE /*next_attempt_at*/next_attempt_at END), /*ordername*/id)
    WHERE /*status*/status = ANY (/*unresolved*/'{READY,INPROGRESS}')/*if counted*/ AND (/*if inprogress*//*status*/status <> /*inprogress*/'INPROGRESS'/*else {claim_token} IS NULL*/ OR /*countername*/attempts < 2)/*end*/;
