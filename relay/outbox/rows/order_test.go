package rows_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// Statements over the same rows lock them in the order of their keys, in
// whatever order a batch has its events.
func TestOverlapsInAnyOrderDoNotDeadlock(t *testing.T) {
	const events, rounds = 2000, 30
	d := database.New(t)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) SELECT gen_random_uuid() FROM generate_series(1, $1::int)", events)
	database.Exec(t, d.Owner, "VACUUM ANALYZE outbox")
	store := newStore(t, d)
	batch := claim(t, store, events)
	order := make([]int, events)
	for i := range order {
		order[i] = i
	}
	var done sync.WaitGroup
	for range 2 {
		part := rows.Part(batch, order...)
		slices.Reverse(order)
		done.Go(func() {
			for range rounds {
				if _, err := store.Renew(t.Context(), part); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	// The sessions report what they have counted when they end.
	store.Close()
	require.Eventually(t, func() bool {
		return database.Query[int64](t, d.Owner, "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()") > 2*rounds
	}, patience, 10*time.Millisecond)
	require.Zero(t, database.Query[int64](t, d.Owner, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))
}
