package rows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

// A table may allow NULL where the presets do not. A row without a count is
// counted from the claim on; one without a status or a due time is nobody's. None
// of them keeps the others.
func TestRowsWithNULLs(t *testing.T) {
	for column, claimed := range map[string]bool{
		"generation": true, "attempts": true, "created_at": true, "headers": true, "key": true, "status": false, "next_attempt_at": false,
		"event_id": true,
	} {
		t.Run(column, func(t *testing.T) {
			d := database.New(t)
			if column != "key" {
				database.Exec(t, d.Owner, "ALTER TABLE outbox ALTER "+column+" DROP NOT NULL")
			}
			database.Exec(t, d.Owner, "INSERT INTO outbox (event_id, payload) VALUES (gen_random_uuid(), 'a'), (gen_random_uuid(), 'b')")
			database.Exec(t, d.Owner, "UPDATE outbox SET "+column+" = NULL WHERE payload = 'a'")
			store := newStore(t, d)
			b := claim(t, store, 10)
			want := 1
			if claimed {
				want = 2
			}
			require.Len(t, b.Events, want)
			settlements := make([]event.Settlement, want)
			for i := range settlements {
				settlements[i] = event.Settlement{Action: event.Retry, Delay: time.Hour}
			}
			settled, err := store.Settle(t.Context(), b, settlements)
			require.NoError(t, err)
			require.Equal(t, event.Settled{Retried: want}, settled)
			if claimed {
				require.EqualValues(t, 2, database.Query[int64](t, d.Owner, "SELECT count(*) FROM outbox WHERE generation = 1 AND attempts = 1"))
			}
		})
	}
}
