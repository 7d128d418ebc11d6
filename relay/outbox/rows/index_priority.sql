-- The queue by priority. The order of claim_priority.sql is this index's.
CREATE INDEX /*priorityindex*/outbox_priority ON /*table*/public.outbox
    (/*priority*/priority DESC, (CASE WHEN /*if inprogress*//*status*/status = /*inprogress*/'INPROGRESS'/*else {claim_token} IS NOT NULL*/ THEN /*lease_until*/lease_until ELSE /*next_attempt_at*/next_attempt_at END), /*ordername*/id)
    WHERE /*status*/status = ANY (/*unresolved*/'{READY,INPROGRESS}')/*if counted*/ AND (/*if inprogress*//*status*/status <> /*inprogress*/'INPROGRESS'/*else {claim_token} IS NULL*/ OR /*countername*/attempts < 2)/*end*/;
