/*if counted*/o.status OPERATOR(pg_catalog.=) /*if inprogress*//*inprogress*/'INPROGRESS'/*else {ready} AND o.claim_token IS NOT NULL*/
      AND /*counter*/o.attempts OPERATOR(pg_catalog.>=) 2/*else false*/
