/*if inprogress*/o.status OPERATOR(pg_catalog.=) /*inprogress*/'INPROGRESS'/*else o.claim_token IS NOT NULL*/
