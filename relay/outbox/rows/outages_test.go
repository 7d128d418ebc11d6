package rows_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// leasesEnd ends all leases at this moment of the database's clock.
const leasesEnd = "UPDATE outbox SET lease_until = clock_timestamp() WHERE status = 'INPROGRESS'"

// distant is a store whose database can be cut off.
type distant struct {
	*rows.Store
	database.Database
	*database.Proxy
}

func newDistant(t *testing.T) distant {
	t.Helper()
	d := database.New(t)
	direct := d
	p := database.NewProxy(t, "127.0.0.1")
	d.URIFile = filepath.Join(t.TempDir(), "uri")
	d.WriteURI(t, strings.Replace(d.URI(d.Role), database.Server.Address(), p.Address(), 1))
	store := newStore(t, d)
	require.Empty(t, claim(t, store, 10).Events, "it has reached its database once")
	return distant{store, direct, p}
}

// outage has the leases end while the database is cut off.
func (d distant) outage(t *testing.T) {
	t.Helper()
	d.SetAway(true)
	database.Exec(t, d.Owner, leasesEnd)
	_, err := d.Claim(t.Context(), event.Ask{Rows: 10})
	require.Equal(t, outbox.Unreachable, outbox.Classify(err).Code)
	d.SetAway(false)
}

// Whose claim it was does not matter: nobody could reach the database.
func TestALeaseThatEndsInAnOutageCostsNoAttempt(t *testing.T) {
	d := newDistant(t)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	require.Len(t, claim(t, newStore(t, d.Database), 10).Events, 1)
	for range 3 {
		d.outage(t)
		batch := claim(t, d.Store, 10)
		require.Len(t, batch.Events, 1)
		require.Equal(t, 1, batch.Events[0].Attempts)
		require.Equal(t, 1, batch.Reclaimed)
		require.False(t, batch.SuspectsWait)
	}
	database.Exec(t, d.Owner, leasesEnd)
	batch := claim(t, d.Store, 10)
	require.Equal(t, 2, batch.Events[0].Attempts, "outside of an outage a lease that ends is a death")
}

// What was claimed three times, twice because of an outage, has had one attempt
// only; and what an outage has ended when it was alone is not abandoned.
func TestAnOutageAbandonsNothing(t *testing.T) {
	d := newDistant(t)
	suspects := event.Ask{Rows: 10, Suspects: true, MaxAttempts: 3}
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	for range 2 {
		require.Len(t, claim(t, d.Store, 10).Events, 1)
		database.Exec(t, d.Owner, leasesEnd)
	}
	take := func() event.Batch {
		batch, err := d.Claim(t.Context(), suspects)
		require.NoError(t, err)
		return batch
	}
	require.True(t, take().Lone)
	d.outage(t)
	for range 2 {
		batch := take()
		require.Zero(t, batch.Abandoned)
		require.Len(t, batch.Events, 1)
		require.Equal(t, 3, batch.Events[0].Attempts)
		d.outage(t)
	}
	require.True(t, take().Lone)
	database.Exec(t, d.Owner, leasesEnd)
	require.Equal(t, 1, take().Abandoned, "then it is what ended its relay")
}

// Who has locked the table keeps everybody from it.
func TestALockOfTheTableIsAnOutage(t *testing.T) {
	d := database.New(t)
	config := d.Config()
	config.LockTimeout = 50 * time.Millisecond
	store := openStore(t, d, config)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	require.Len(t, claim(t, store, 10).Events, 1)
	database.Exec(t, d.Owner, "BEGIN; LOCK TABLE outbox; "+leasesEnd)
	_, err := store.Claim(t.Context(), event.Ask{Rows: 10})
	require.Equal(t, outbox.DatabaseFailed, outbox.Classify(err).Code)
	database.Exec(t, d.Owner, "COMMIT")
	require.Equal(t, 1, claim(t, store, 10).Events[0].Attempts)
}

// An error that a row can cause is no outage.
func TestAStatementThatFailsIsNoOutage(t *testing.T) {
	d := newDistant(t)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	batch := claim(t, d.Store, 10)
	database.Exec(t, d.Owner, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE ON outbox FOR EACH ROW WHEN (NEW.status = 'SENT') EXECUTE FUNCTION refuse()`)
	_, err := d.Settle(t.Context(), batch, []event.Settlement{{Action: event.Sent}})
	require.Error(t, err)
	database.Exec(t, d.Owner, leasesEnd)
	require.Equal(t, 2, claim(t, d.Store, 10).Events[0].Attempts)
}

// Nor is a settle that takes until its lease is over.
func TestAStatementThatTakesTooLongIsNoOutage(t *testing.T) {
	d := newDistant(t)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	batch := claim(t, d.Store, 10)
	database.Exec(t, d.Owner, `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
		CREATE TRIGGER wait BEFORE UPDATE ON outbox FOR EACH ROW WHEN (NEW.status = 'SENT') EXECUTE FUNCTION wait()`)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := d.Settle(ctx, batch, []event.Settlement{{Action: event.Sent}})
	require.Equal(t, outbox.Unreachable, outbox.Classify(err).Code)
	require.Eventually(t, func() bool { // The server ends the statement later than the relay gives it up.
		tag, err := d.Owner.Exec(t.Context(), leasesEnd+" AND id IN (SELECT id FROM outbox FOR UPDATE SKIP LOCKED)")
		return err == nil && tag.RowsAffected() == 1
	}, patience, 10*time.Millisecond)
	require.Equal(t, 2, claim(t, d.Store, 10).Events[0].Attempts)
}
