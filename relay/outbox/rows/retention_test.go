package rows_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

func retaining(t *testing.T, d database.Database, r rows.Retention) *rows.Store {
	t.Helper()
	store, err := rows.New(d.Open(t), rows.Config{Table: d.Table, Mapping: d.Mapping, Lease: outboxtest.Lease, Retention: &r})
	require.NoError(t, err)
	return store
}

// purgeAll purges until nothing is left to delete, and returns how many went.
func purgeAll(t *testing.T, store *rows.Store) int {
	t.Helper()
	total := 0
	for more := true; more; {
		deleted, again, err := store.Purge(t.Context())
		require.NoError(t, err)
		total, more = total+deleted, again
	}
	return total
}

// Only rows that were published long enough ago go, and never one that waits, is
// claimed or has FAILED.
func TestPurgeDeletesOnlyWhatIsDone(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "GRANT DELETE ON outbox TO "+d.Role)
	database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, status, sent_at, failed_at, lease_until, next_attempt_at)
		SELECT gen_random_uuid(), s, CASE WHEN s = 'SENT' THEN now() - a END, CASE WHEN s = 'FAILED' THEN now() - a END,
		       CASE WHEN s = 'INPROGRESS' THEN now() - a END, now() - a
		FROM unnest('{READY,INPROGRESS,SENT,FAILED}'::text[]) AS s, unnest('{1 minute,2 hours}'::interval[]) AS a,
		     generate_series(1, 1500)`)
	store := retaining(t, d, rows.Retention{Window: time.Hour})
	require.Equal(t, 1500, purgeAll(t, store))
	require.Equal(t, int64(7*1500), database.Query[int64](t, d.Owner, "SELECT count(*) FROM outbox"))
	require.Zero(t, database.Query[int64](t, d.Owner, "SELECT count(*) FROM outbox WHERE status = 'SENT' AND sent_at < now() - interval '1 hour'"))
}

// A consumer's receipts count from when the row was published, and what it has
// not consumed yet stays.
func TestPurgeOfStatusesOfAConsumer(t *testing.T) {
	d := database.NewPreset(t, "StatusCodes", outbox.Table{Schema: "public", Name: "notification_outbox"})
	database.Exec(t, d.Owner, "GRANT DELETE ON notification_outbox TO "+d.Role)
	database.Exec(t, d.Owner, `INSERT INTO notification_outbox (event_id, send_status, payload, next_attempt_at, lease_until)
		SELECT gen_random_uuid(), s, '{}', now() - interval '2 hours', CASE WHEN s = 1 THEN now() END FROM generate_series(0, 5) AS s`)
	store := retaining(t, d, rows.Retention{Window: time.Hour, Statuses: []string{"4"}})
	require.Equal(t, 1, purgeAll(t, store))
	require.Zero(t, database.Query[int64](t, d.Owner, "SELECT count(*) FROM notification_outbox WHERE send_status = 4"))
	_, err := rows.New(d.Open(t), rows.Config{Table: d.Table, Mapping: d.Mapping, Retention: &rows.Retention{Statuses: []string{"3"}}})
	require.ErrorContains(t, err, "must not be deleted")
}

// What somebody holds is passed over, and goes another time.
func TestPurgePassesOverWhatIsLocked(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "GRANT DELETE ON outbox TO "+d.Role)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id, status, sent_at) SELECT gen_random_uuid(), 'SENT', now() - interval '1 day' FROM generate_series(1, 3)")
	tx, err := d.Connect(t, database.Owner).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM outbox ORDER BY id LIMIT 1 FOR UPDATE")
	require.NoError(t, err)
	store := retaining(t, d, rows.Retention{Window: time.Hour})
	require.Equal(t, 2, purgeAll(t, store))
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, 1, purgeAll(t, store))
}

func TestPurgeIsRefusedWhereAForeignKeyPointsHere(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "GRANT DELETE ON outbox TO "+d.Role)
	database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, status, sent_at) VALUES (gen_random_uuid(), 'SENT', now() - interval '1 day');
		CREATE TABLE receipts (event bigint REFERENCES outbox ON DELETE CASCADE)`)
	store := retaining(t, d, rows.Retention{Window: time.Hour})
	_, _, err := store.Purge(t.Context())
	require.ErrorIs(t, err, rows.ErrReferenced)
	require.Equal(t, int64(1), database.Query[int64](t, d.Owner, "SELECT count(*) FROM outbox"))
	database.Exec(t, d.Owner, "DROP TABLE receipts")
	require.Equal(t, 1, purgeAll(t, store))
}

// Whoever has the lock deletes; the others do not wait for it, and nobody has to
// give it back.
func TestOneRelayDeletesAtATime(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "GRANT DELETE ON outbox TO "+d.Role)
	database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, status, sent_at)
		SELECT gen_random_uuid(), 'SENT', now() - interval '1 day' FROM generate_series(1, 10)`)
	holder := d.Connect(t, database.Owner)
	tx, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock((1919249785::bigint << 32) | 'outbox'::regclass::oid::bigint)")
	require.NoError(t, err)
	store := retaining(t, d, rows.Retention{Window: time.Hour})
	require.Zero(t, purgeAll(t, store))
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, 10, purgeAll(t, store))
}

// Claims and settles go on beside a purge, and neither costs the other a row.
func TestClaimsGoOnBesideAPurge(t *testing.T) {
	const done, waiting = 20_000, 2000
	d := database.New(t)
	database.Exec(t, d.Owner, rows.RetentionIndex(d.Table, d.Mapping, rows.Retention{}).Create)
	database.Exec(t, d.Owner, "GRANT DELETE ON outbox TO "+d.Role)
	database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, status, sent_at)
		SELECT gen_random_uuid(), 'SENT', now() - interval '1 day' FROM generate_series(1, $1::int)`, done)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) SELECT gen_random_uuid() FROM generate_series(1, $1::int)", waiting)
	var working sync.WaitGroup
	for range 3 {
		purger := retaining(t, d, rows.Retention{Window: time.Hour})
		working.Go(func() {
			for more := true; more; {
				_, again, err := purger.Purge(context.WithoutCancel(t.Context()))
				if err != nil {
					t.Error(err)
					return
				}
				more = again
			}
		})
	}
	store, sent := newStore(t, d), 0
	for sent < waiting {
		b := claim(t, store, 100)
		settlements := make([]event.Settlement, len(b.Events))
		for i := range settlements {
			settlements[i].Action = event.Sent
		}
		settled, err := store.Settle(t.Context(), b, settlements)
		require.NoError(t, err)
		require.Equal(t, len(b.Events), settled.Sent)
		sent += settled.Sent
	}
	working.Wait()
	purgeAll(t, retaining(t, d, rows.Retention{Window: time.Hour}))
	require.Equal(t, int64(waiting), database.Query[int64](t, d.Owner, "SELECT count(*) FROM outbox"))
	require.Zero(t, database.Query[int64](t, d.Owner, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))
}
