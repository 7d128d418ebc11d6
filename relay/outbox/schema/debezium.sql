-- The outbox event router's table, with the columns of a claim beside it. The application must not delete its rows: some
-- do so in the inserting transaction, for the log alone, and a poller never sees those.
CREATE TABLE /*table*/public.outboxevent (
    id              uuid        PRIMARY KEY,
    aggregatetype   varchar(255) NOT NULL,                    -- topic: outbox.event.<aggregatetype>
    aggregateid     varchar(255) NOT NULL,                    -- key
    type            varchar(255) NOT NULL,
    payload         jsonb,
    seq             bigint      GENERATED ALWAYS AS IDENTITY, -- an order to claim in; a random uuid has none
    status          text        NOT NULL DEFAULT 'READY',
    generation      bigint      NOT NULL DEFAULT 0,
    claim_token     uuid,
    attempts        integer     NOT NULL DEFAULT 0,
    lease_until     timestamptz,
    next_attempt_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    failed_at       timestamptz,
    last_error      text,
    CHECK ((status = 'INPROGRESS') = (lease_until IS NOT NULL)),
    CHECK ((status = 'FAILED') = (failed_at IS NOT NULL))
);
