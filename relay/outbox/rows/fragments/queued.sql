o.status OPERATOR(pg_catalog.=) ANY (/*unresolved*/'{READY,INPROGRESS}')/*if counted*/
      AND (/*if inprogress*/o.status OPERATOR(pg_catalog.<>) /*inprogress*/'INPROGRESS'/*else o.claim_token IS NULL*/ OR /*counter*/o.attempts OPERATOR(pg_catalog.<) 2)/*end*/
