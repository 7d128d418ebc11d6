-- FAILED rows are few and are looked for often; rows of any other status cost this index nothing.
CREATE INDEX /*failedindex*/outbox_failed ON /*table*/public.outbox (/*failedat*/failed_at, /*ordername*/id) WHERE /*status*/status = /*failed*/'FAILED';
