-- The business rows. An event is committed exactly when its order is here.
CREATE TABLE /*schema*/public.orders (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- rises per key in the order of the commits
    event_id  uuid        NOT NULL,
    key       text        NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT statement_timestamp()
);

-- The first delivery of every event that the consumer has seen.
CREATE TABLE /*schema*/public.receipts (
    event_id     uuid        PRIMARY KEY,
    partition    integer     NOT NULL,
    "offset"     bigint      NOT NULL,
    published_at timestamptz NOT NULL,                               -- the record's own time: when a relay sent it
    received_at  timestamptz NOT NULL DEFAULT statement_timestamp()
);

-- Every further delivery of an event that has a receipt.
CREATE TABLE /*schema*/public.repeats (
    event_id     uuid        NOT NULL,
    partition    integer     NOT NULL,
    "offset"     bigint      NOT NULL,
    published_at timestamptz NOT NULL,
    received_at  timestamptz NOT NULL DEFAULT statement_timestamp()
);

-- Records whose identity header is not the identity in their payload.
CREATE TABLE /*schema*/public.misnamed (
    header    text    NOT NULL,
    payload   text    NOT NULL,
    partition integer NOT NULL,
    "offset"  bigint  NOT NULL
);

-- How far the consumer is; written with the receipts, so that a restarted one misses and repeats nothing.
CREATE TABLE /*schema*/public.consumed (
    topic       text    NOT NULL,
    partition   integer NOT NULL,
    next_offset bigint  NOT NULL,
    deliveries  bigint  NOT NULL,
    PRIMARY KEY (topic, partition)
);
