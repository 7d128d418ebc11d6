(CASE WHEN /*if inprogress*/o.status OPERATOR(pg_catalog.=) /*inprogress*/'INPROGRESS'/*else o.claim_token IS NOT NULL*/ THEN o.lease_until END)
          OPERATOR(pg_catalog.<@) (SELECT $5::pg_catalog.text::pg_catalog.tstzmultirange)
