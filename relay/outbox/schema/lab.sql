-- The recovery lab's table. It counts no attempts, has no FAILED and no claim token, so: attempts are unlimited, a permanent
-- error is retried at the longest back-off, a row that kills its relays kills one per lease (alone, from generation 3 on),
-- and after a lost commit only the server's start time tells an old claim from a new one. Adding the columns of the
-- Relayfleet table turns all that on.
CREATE TABLE /*table*/public.outbox_lab (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id        text        NOT NULL UNIQUE,
    status          text        NOT NULL DEFAULT 'READY' CHECK (status IN ('READY', 'INPROGRESS', 'SENT')),
    generation      bigint      NOT NULL DEFAULT 0,
    lease_until     timestamptz,
    next_attempt_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    aggregate_key   text,
    payload         bytea,
    CHECK ((status = 'INPROGRESS') = (lease_until IS NOT NULL))
);
