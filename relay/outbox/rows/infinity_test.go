package rows_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

// PostgreSQL knows infinities that Go does not: such a row is one event, not the
// end of the fleet.
func TestInfiniteTimesStopNobody(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, next_attempt_at, created_at) VALUES
		(gen_random_uuid(), '-infinity', now()), (gen_random_uuid(), now(), '-infinity'),
		(gen_random_uuid(), now(), 'infinity'), (gen_random_uuid(), 'infinity', now()),
		(gen_random_uuid(), '4713-01-01 BC', '294276-01-01')`)
	store := newStore(t, d)
	backlog, err := store.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4, backlog.Eligible)

	b := claim(t, store, 10)
	require.Len(t, b.Events, 4, "the one that is never due is left")
	settled, err := store.Settle(t.Context(), b, []event.Settlement{
		{Action: event.Sent}, {Action: event.Sent}, {Action: event.Sent}, {Action: event.Sent},
	})
	require.NoError(t, err)
	require.Equal(t, 4, settled.Sent)

	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	require.Len(t, claim(t, store, 10).Events, 1, "and the watermark goes on")
}

// A table whose columns may be NULL although ours may not.
func TestARowWithoutIdentityFailsAlone(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "ALTER TABLE outbox ALTER event_id DROP NOT NULL, ALTER created_at DROP NOT NULL")
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id, created_at) VALUES (NULL, now()), (gen_random_uuid(), NULL)")
	b := claim(t, newStore(t, d), 10)
	require.Len(t, b.Events, 2)
	require.NotEmpty(t, b.Events[0].Invalid)
	require.Empty(t, b.Events[1].Invalid)
	require.Zero(t, b.Events[1].Age)
}
