-- Numeric states: 0 READY, 1 INPROGRESS, 2 SENT and 3 FAILED are the relay's; 5 CONSUMING and 4 CONSUMED belong to the
-- consumer, and the relay never touches them. When a row was published, or failed, stands in next_attempt_at.
CREATE TABLE /*table*/public.notification_outbox (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id        uuid        NOT NULL,
    send_status     smallint    NOT NULL DEFAULT 0 CHECK (send_status BETWEEN 0 AND 5),
    priority        integer     NOT NULL DEFAULT 0,
    attempts        integer     NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error      text,
    generation      bigint      NOT NULL DEFAULT 0,
    lease_until     timestamptz,
    claim_token     uuid,
    aggregate_key   text,
    payload         jsonb       NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CHECK (send_status <> 1 OR lease_until IS NOT NULL) -- a consumer that is faster than the relay leaves the lease behind
);
