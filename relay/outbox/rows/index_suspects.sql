-- The suspects, if their leases have ended: claimed for the second time or more. The order of suspects.sql is this index's.
CREATE INDEX /*suspects*/outbox_suspects ON /*table*/public.outbox (/*countername*/attempts DESC, /*lease_until*/lease_until, /*ordername*/id)
    WHERE /*status*/status = /*if inprogress*//*inprogress*/'INPROGRESS'/*else {ready} AND {claim_token} IS NOT NULL*/ AND /*countername*/attempts >= 2;
