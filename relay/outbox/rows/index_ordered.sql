-- What is unresolved by key and order: closes an ordered claim, and tells whether a row is its key's first.
CREATE INDEX /*ordered*/outbox_ordered ON /*table*/public.outbox (/*key*/key, /*ordername*/id) WHERE /*status*/status = ANY (/*unresolved*/'{READY,INPROGRESS}');
