package outbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/pgbouncer"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

const listenPatience = 30 * time.Second

// listening runs a listener and returns what it tells.
func listening(t *testing.T, db *outbox.DB, channel string) (*outbox.Listener, <-chan bool) {
	t.Helper()
	told := make(chan bool, 100)
	l := db.Listen(channel, time.Second, func(working bool, _ error) { told <- working })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); l.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return l, told
}

func requireTold(t *testing.T, told <-chan bool, want bool) {
	t.Helper()
	select {
	case got := <-told:
		require.Equal(t, want, got)
	case <-time.After(listenPatience):
		require.Fail(t, "nothing was told")
	}
}

func TestAListenerPassesHintsOn(t *testing.T) {
	d := database.New(t)
	db := d.Open(t)
	require.NoError(t, db.Refresh(t.Context()))
	l, told := listening(t, db, `Odd "channel"`)
	requireTold(t, told, true)
	require.True(t, l.Working())
	select {
	case <-l.Hints():
		require.Fail(t, "its own notification is no hint")
	default:
	}
	database.Exec(t, d.Owner, "SELECT pg_notify($1, '')", `Odd "channel"`)
	select {
	case <-l.Hints():
	case <-time.After(listenPatience):
		require.Fail(t, "no hint")
	}
}

func TestAListenerThatIsCutOffSaysSoAndListensAgain(t *testing.T) {
	d := database.New(t)
	db := d.Open(t)
	require.NoError(t, db.Refresh(t.Context()))
	l, told := listening(t, db, "outbox")
	requireTold(t, told, true)
	super, err := database.Server.Connect(t.Context(), d.Name)
	require.NoError(t, err)
	defer super.Close(t.Context())
	database.Exec(t, super, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
	requireTold(t, told, false)
	require.False(t, l.Working())
	requireTold(t, told, true)
}

// LISTEN is accepted, and nothing comes: only asking oneself finds that out.
func TestAListenerThatHearsNothingSaysSo(t *testing.T) {
	d := database.New(t)
	p := database.NewProxy(t, "127.0.0.1")
	d.WriteURI(t, strings.Replace(d.URI(d.Role), database.Server.Address(), p.Address(), 1))
	db := d.Open(t)
	require.NoError(t, db.Refresh(t.Context()))
	l, told := listening(t, db, "outbox")
	requireTold(t, told, true)
	p.SetMute(true)
	database.Exec(t, d.Owner, "SELECT pg_notify('outbox', '')")
	// The connection lives, and is mute: within a probe's time it is known.
	select {
	case working := <-told:
		require.False(t, working)
	case <-time.After(2 * listenPatience):
		require.Fail(t, "nothing was told")
	}
	require.False(t, l.Working())
	p.SetMute(false)
}

// PgBouncer in transaction mode accepts LISTEN and gives the session to somebody
// else: what is sent does not come back.
func TestAListenerBehindPgBouncerInTransactionModeSaysSo(t *testing.T) {
	d := database.New(t)
	pooler := pgbouncer.StartForTest(t, database.Server, pgbouncer.Options{Roles: []string{d.Role}, PoolSize: 3})
	d.WriteURI(t, pooler.URI(d.Name, d.Role))
	config := d.Config()
	config.Pooling = outbox.TransactionPooling
	db := database.Open(t, config)
	require.NoError(t, db.Refresh(t.Context()))
	l, told := listening(t, db, "outbox")
	requireTold(t, told, false)
	require.False(t, l.Working())
}
