-- A row is claimed while it is PENDING, by a token and a lease: there is no state for it and no generation, the token alone
-- is the fence. The identity is text and rises with nothing, so order by key needs a further column.
CREATE TABLE /*table*/public.delivery_outbox (
    event_id        text        PRIMARY KEY,
    status          text        NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'SENT', 'FAILED')),
    next_attempt_at timestamptz NOT NULL,
    claim_token     text,
    lease_until     timestamptz,
    attempts        integer     NOT NULL DEFAULT 0,
    last_error      text,
    aggregate_key   text,
    payload         text        NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now()
);
