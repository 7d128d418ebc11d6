package rows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

// An outbox is empty on its first day. The plans of that day must not be kept
// for the day of the first burst: nothing has analysed the table by then.
func TestABurstIntoASmallTableIsNotReadWhole(t *testing.T) {
	const burst = 100_000
	d := database.New(t)
	database.Exec(t, d.Owner, "ALTER TABLE outbox SET (autovacuum_enabled = false)")
	insert := func(n int) {
		database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, payload)
			SELECT gen_random_uuid(), '\x00' FROM generate_series(1, $1::int)`, n)
	}
	store := newStore(t, d)
	work := func() {
		b := claim(t, store, 4)
		require.Len(t, b.Events, 4)
		_, err := store.Settle(t.Context(), b, []event.Settlement{
			{Action: event.Sent}, {Action: event.Sent}, {Action: event.Retry, Delay: time.Hour}, {Action: event.Fail},
		})
		require.NoError(t, err)
	}
	for range 10 { // More often than a session plans a prepared statement anew.
		insert(4)
		work()
	}
	insert(burst)
	for range 10 {
		work()
	}
	_, err := store.Backlog(t.Context())
	require.NoError(t, err)
	store.Close() // A session hands its statistics in when it ends.
	require.Eventually(t, func() bool {
		return database.Query[int64](t, d.Owner, "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'outbox'") >= 20*4*2
	}, time.Minute, 100*time.Millisecond)
	scanned := database.Query[int64](t, d.Owner, "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'outbox'")
	require.Less(t, scanned, int64(burst), "rows read by scans of the whole table")
	entries := database.Query[int64](t, d.Owner, "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'outbox_queue'")
	require.Less(t, entries, int64(burst), "entries of the queue that were read")
}
