package rows_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

// patience is how long a condition may take on a busy machine.
const patience = 30 * time.Second

// A claim whose answer is lost has happened. It costs no attempt and no lease.
func TestClaimWhoseAnswerIsLost(t *testing.T) {
	direct := database.New(t)
	d := direct
	d.URIFile = filepath.Join(t.TempDir(), "uri")
	p := database.NewProxy(t, "127.0.0.1")
	d.WriteURI(t, strings.Replace(d.URI(d.Role), database.Server.Address(), p.Address(), 1))
	store := newStore(t, d)
	require.Empty(t, claim(t, store, 10).Events, "the statements are prepared now")
	others := newStore(t, direct)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	theirs := claim(t, others, 1)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) SELECT gen_random_uuid() FROM generate_series(1, 3)")

	p.SetMute(true)
	failed := make(chan error, 1)
	go func() {
		_, err := store.Claim(t.Context(), event.Ask{Rows: 10})
		failed <- err
	}()
	require.Eventually(t, func() bool {
		return database.Query[int64](t, d.Owner, "SELECT count(*) FROM outbox WHERE status = 'INPROGRESS'") == 4
	}, patience, 10*time.Millisecond)
	p.Cut()
	err := <-failed
	require.Error(t, err)
	require.Equal(t, outbox.Unreachable, outbox.Classify(err).Code)

	p.SetMute(false)
	batch := claim(t, store, 10)
	require.Len(t, batch.Events, 3)
	require.Equal(t, 1, batch.Events[0].Attempts)
	require.Zero(t, batch.Reclaimed)
	require.Equal(t, int64(2), database.Query[int64](t, d.Owner, "SELECT max(generation) FROM outbox"))

	settled, err := others.Settle(t.Context(), theirs, []event.Settlement{{Action: event.Sent}})
	require.NoError(t, err)
	require.Equal(t, event.Settled{Sent: 1}, settled, "the claims of others are left alone")
}

// Rows whose content cannot be read after the claim are given back as well.
func TestClaimWhoseRowsCannotBeRead(t *testing.T) {
	d := database.New(t)
	store := newStore(t, d)
	require.Empty(t, claim(t, store, 10).Events, "the table could be read when it was looked at")
	database.Exec(t, d.Owner, "REVOKE SELECT ON outbox FROM "+d.Role)
	database.Exec(t, d.Owner, "GRANT SELECT (id, status, generation, claim_token, attempts, lease_until, next_attempt_at, payload) ON outbox TO "+d.Role)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	for range 3 {
		_, err := store.Claim(t.Context(), event.Ask{Rows: 10})
		require.Equal(t, outbox.PermissionDenied, outbox.Classify(err).Code)
	}
	database.Exec(t, d.Owner, "GRANT SELECT ON outbox TO "+d.Role)
	batch := claim(t, store, 10)
	require.Len(t, batch.Events, 1)
	require.Equal(t, 1, batch.Events[0].Attempts)
}

// A lost claim of suspects is given back, and no suspect that another relay holds.
func TestALostClaimOfSuspectsLeavesThoseOfOthersAlone(t *testing.T) {
	d := database.New(t)
	store, others := newStore(t, d), newStore(t, d)
	require.Empty(t, claim(t, store, 10).Events, "the table could be read when it was looked at")
	database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, status, attempts, generation, claim_token, lease_until)
		SELECT gen_random_uuid(), 'INPROGRESS', 2, 2, gen_random_uuid(), now() - interval '1 s' FROM generate_series(1, 2)`)
	suspects := event.Ask{Rows: 2, Suspects: true, MaxAttempts: 10}
	theirs, err := others.Claim(t.Context(), suspects)
	require.NoError(t, err)
	require.Len(t, theirs.Events, 1)

	database.Exec(t, d.Owner, "REVOKE SELECT ON outbox FROM "+d.Role)
	database.Exec(t, d.Owner, "GRANT SELECT (id, status, generation, claim_token, attempts, lease_until, next_attempt_at, payload) ON outbox TO "+d.Role)
	_, err = store.Claim(t.Context(), suspects)
	require.Equal(t, outbox.PermissionDenied, outbox.Classify(err).Code)
	database.Exec(t, d.Owner, "GRANT SELECT ON outbox TO "+d.Role)
	ours := claim(t, store, 10)
	require.Len(t, ours.Events, 1)
	require.Equal(t, 3, ours.Events[0].Attempts)
	settled, err := others.Settle(t.Context(), theirs, []event.Settlement{{Action: event.Sent}})
	require.NoError(t, err)
	require.Equal(t, event.Settled{Sent: 1}, settled)
}

// A claim that the server has undone is not looked for, and nothing is held.
func TestClaimThatTimesOutHoldsNothing(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
		CREATE TRIGGER wait BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION wait();
		INSERT INTO outbox (event_id) VALUES (gen_random_uuid())`)
	config := d.Config()
	config.StatementTimeout = 200 * time.Millisecond
	store := openStore(t, d, config)
	_, err := store.Claim(t.Context(), event.Ask{Rows: 1})
	require.Equal(t, outbox.DatabaseFailed, outbox.Classify(err).Code)
	database.Exec(t, d.Owner, "DROP TRIGGER wait ON outbox")
	batch := claim(t, store, 1)
	require.Len(t, batch.Events, 1)
	require.Equal(t, 1, batch.Events[0].Attempts)
}
