-- The Relayfleet table. The application inserts event_id, topic, key, payload and headers in the transaction of its
-- business change; the rest is the relay's.
CREATE TABLE /*table*/public.outbox (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id        uuid        NOT NULL,                     -- the event's identity, the same in every attempt
    topic           text,                                     -- NULL: the resource's topic
    key             text,                                     -- NULL: no order, any partition
    payload         bytea,                                    -- NULL: tombstone
    headers         jsonb       NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(headers) = 'object'),
    priority        smallint    NOT NULL DEFAULT 0,
    status          text        NOT NULL DEFAULT 'READY' CHECK (status IN ('READY', 'INPROGRESS', 'SENT', 'FAILED')),
    generation      bigint      NOT NULL DEFAULT 0,           -- rises with every claim
    claim_token     uuid,                                     -- random for every claim
    attempts        integer     NOT NULL DEFAULT 0,           -- charged by the claim, so that crashes count
    lease_until     timestamptz,
    next_attempt_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    created_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
    sent_at         timestamptz,
    failed_at       timestamptz,
    last_error      text,
    CHECK ((status = 'INPROGRESS') = (lease_until IS NOT NULL)),
    CHECK ((status = 'FAILED') = (failed_at IS NOT NULL))
);
