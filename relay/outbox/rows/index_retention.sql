-- Published rows by the time of it; only where retention deletes them.
CREATE INDEX /*retention*/outbox_retention ON /*table*/public.outbox (/*sentat*/sent_at, /*ordername*/id)
    WHERE /*status*/status = ANY (/*deletable*/'{SENT}');
