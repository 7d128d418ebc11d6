package rows_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

// BenchmarkClaimAndSettle is the database's side of a relay alone: what a relay
// could publish if the broker took no time. An operation is a batch.
func BenchmarkClaimAndSettle(b *testing.B) {
	const batch = 500
	d := database.New(b)
	database.Exec(b, d.Owner, `INSERT INTO outbox (event_id, key, payload)
		SELECT gen_random_uuid(), 'key ' || n % 10000, convert_to(repeat('x', 512), 'UTF8')
		FROM generate_series(1, $1::int) AS n`, b.N*batch)
	database.Exec(b, d.Owner, "VACUUM ANALYZE outbox")
	store := newStore(b, d)
	settlements := make([]event.Settlement, batch)
	for i := range settlements {
		settlements[i].Action = event.Sent
	}
	b.ResetTimer()
	for range b.N {
		claimed, err := store.Claim(b.Context(), event.Ask{Rows: batch})
		require.NoError(b, err)
		settled, err := store.Settle(b.Context(), claimed, settlements)
		require.NoError(b, err)
		require.Equal(b, batch, settled.Sent)
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "events/s")
}
