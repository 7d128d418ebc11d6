package rows_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

// clock is that of a whole PostgreSQL server.
type clock struct {
	file   string
	server *postgres.Server
}

// set moves it away from the true time; what runs sees it at once.
func (c clock) set(t *testing.T, offset string) {
	t.Helper()
	require.NoError(t, os.WriteFile(c.file, []byte(offset+"\n"), 0o600))
	require.NoError(t, os.Chmod(c.file, 0o644))
}

// serverWithAClock starts a server under libfaketime, and skips the test where
// that is not installed.
func serverWithAClock(t *testing.T) clock {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if len(found) == 0 {
		t.Skip("libfaketime is not installed (Debian: apt-get install libfaketime)")
	}
	dir, err := os.MkdirTemp("", "clock") //nolint:usetesting // The server's user cannot enter a test's own folder.
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	c := clock{file: filepath.Join(dir, "offset")}
	c.set(t, "+0")
	c.server = postgres.StartForTest(t, postgres.Options{
		NotDurable: true, Version: database.Server.Options().Version,
		Environment: []string{
			"LD_PRELOAD=" + found[0], "FAKETIME_TIMESTAMP_FILE=" + c.file, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
		},
	})
	return c
}

func (c clock) store(t *testing.T) *rows.Store {
	t.Helper()
	file := filepath.Join(t.TempDir(), "uri")
	uri, _, _ := strings.Cut(c.server.URL("postgres", "postgres"), "?")
	require.NoError(t, os.WriteFile(file, []byte(uri), 0o600))
	db := database.Open(t, outbox.Config{URIFile: file, CAFile: c.server.CAFile()})
	store, err := rows.New(db, rows.Config{Table: outbox.Table{Schema: "public", Name: "outbox"}, Mapping: outbox.Relayfleet(), Lease: time.Minute})
	require.NoError(t, err)
	return store
}

// The database's clock alone decides. When it is a day off, or steps by a day,
// rows come later or again; none is lost, and none is settled by a claim that has
// ended. This process's clock, which says another time, does not matter.
func TestADatabaseWhoseClockIsADayOff(t *testing.T) {
	c := serverWithAClock(t)
	conn, err := c.server.Connect(t.Context(), "postgres")
	require.NoError(t, err)
	defer conn.Close(t.Context())
	ddl, err := schema.DDL("Relayfleet", outbox.Table{Schema: "public", Name: "outbox"})
	require.NoError(t, err)
	database.Exec(t, conn, ddl)
	insert := func() {
		database.Exec(t, conn, "INSERT INTO outbox (event_id, payload) VALUES (gen_random_uuid(), 'x')")
	}
	sent := []event.Settlement{{Action: event.Sent}}
	for _, offset := range []string{"-1d", "+1d"} {
		c.set(t, offset)
		require.InDelta(t, 24, time.Since(database.Query[time.Time](t, conn, "SELECT clock_timestamp()")).Abs().Hours(), 1)
		insert()
		store := c.store(t)
		b := claim(t, store, 10)
		require.Len(t, b.Events, 1, "a clock that is off by %s, for all that matters, is right", offset)
		require.Less(t, b.Events[0].Age, time.Hour)
		settled, err := store.Settle(t.Context(), b, sent)
		require.NoError(t, err)
		require.Equal(t, 1, settled.Sent)
	}

	// It steps forward: the lease has ended, another takes the row, and the first one's outcome is refused.
	c.set(t, "-1d")
	insert()
	first, second := c.store(t), c.store(t)
	held := claim(t, first, 10)
	require.Len(t, held.Events, 1)
	require.Empty(t, claim(t, second, 10).Events)
	c.set(t, "+0")
	again := claim(t, second, 10)
	require.Equal(t, held.Events[0].ID, again.Events[0].ID)
	settled, err := first.Settle(t.Context(), held, sent)
	require.NoError(t, err)
	require.Equal(t, event.Settled{Stale: 1}, settled)

	// It steps back: the lease lasts longer, its owner's outcome counts, and a row that was inserted before waits for its
	// time to come again.
	insert()
	c.set(t, "-1d")
	require.Empty(t, claim(t, first, 10).Events)
	settled, err = second.Settle(t.Context(), again, sent)
	require.NoError(t, err)
	require.Equal(t, event.Settled{Sent: 1}, settled)
	c.set(t, "+0")
	require.Len(t, claim(t, first, 10).Events, 1)
}
