-- FAILED rows by key: they hold back what comes after them.
CREATE INDEX /*halted*/outbox_halted ON /*table*/public.outbox (/*key*/key, /*ordername*/id) WHERE /*status*/status = /*failed*/'FAILED';
