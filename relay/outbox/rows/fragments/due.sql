(CASE WHEN /*if inprogress*/o.status OPERATOR(pg_catalog.=) /*inprogress*/'INPROGRESS'/*else o.claim_token IS NOT NULL*/ THEN o.lease_until ELSE o.next_attempt_at END)
