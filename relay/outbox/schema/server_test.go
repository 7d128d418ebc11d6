package schema_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/pgbouncer"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

// asked are all parameters that a relay asks for at the start of a session.
func asked(t *testing.T, d database.Database) []string {
	t.Helper()
	found, err := d.Open(t).Pool().Query(t.Context(), "SELECT name FROM pg_settings WHERE source = 'client'")
	require.NoError(t, err)
	names, err := pgx.CollectRows(found, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, names, "statement_timeout")
	return names
}

// pretend gives the role the settings that a relay asks for, so that nobody
// misses them whom they are not sent to.
func pretend(t *testing.T, d database.Database) {
	t.Helper()
	found, err := d.Open(t).Pool().Query(t.Context(), "SELECT format('ALTER ROLE %I SET %I = %L', $1::text, name, setting) "+
		"FROM pg_settings WHERE source = 'client' AND name NOT IN ('application_name', 'client_encoding')", d.Role)
	require.NoError(t, err)
	statements, err := pgx.CollectRows(found, pgx.RowTo[string])
	require.NoError(t, err)
	admin := d.Connect(t, "postgres")
	for _, statement := range statements {
		database.Exec(t, admin, statement)
	}
}

func TestAPoolerInTransactionModeIsFoundOut(t *testing.T) {
	for _, test := range []struct {
		name              string
		ignores, pretends bool
		poolSize          int
		message           string
	}{
		{"that refuses what it does not know", false, false, 5, "unsupported startup parameter"},
		{"that drops what it does not know", true, false, 5, "statement_timeout is 0"},
		{"with one session for two connections", true, true, 1, "does not keep its session"},
		{"with a session for each connection", true, true, 5, "does not keep its session"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := database.New(t)
			o := pgbouncer.Options{Roles: []string{d.Role}, PoolSize: test.poolSize}
			if test.ignores {
				o.Ignored = asked(t, d)
			}
			if test.pretends {
				pretend(t, d)
			}
			d.WriteURI(t, pgbouncer.StartForTest(t, database.Server, o).URI(d.Name, d.Role))
			err := doctor(d, d.Open(t)).Check(t.Context())
			requireProblem(t, err, outbox.PoolingMismatch)
			require.ErrorContains(t, err, test.message)

			config := d.Config()
			config.Pooling = outbox.TransactionPooling
			told := schema.New(database.Open(t, config), d.Table, d.Mapping, schema.Use{Pooling: outbox.TransactionPooling})
			require.NoError(t, told.Check(t.Context()))
			require.Empty(t, examine(t, told).Findings)
		})
	}
}

func TestAPoolerInSessionModeIsNone(t *testing.T) {
	d := database.New(t)
	pretend(t, d)
	o := pgbouncer.Options{Roles: []string{d.Role}, Mode: "session", Ignored: asked(t, d)}
	d.WriteURI(t, pgbouncer.StartForTest(t, database.Server, o).URI(d.Name, d.Role))
	require.NoError(t, doctor(d, d.Open(t)).Check(t.Context()))
}

// A role that may connect once is not refused for it.
func TestARoleWithASingleConnection(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Connect(t, "postgres"), "ALTER ROLE "+d.Role+" CONNECTION LIMIT 1")
	one := doctor(d, d.Open(t))
	// The server may not yet have noticed that the connection that tried the credentials is gone.
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NoError(c, one.Check(t.Context())) }, 30*time.Second, 10*time.Millisecond)
}

func TestAReadOnlyServer(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Connect(t, "postgres"), "ALTER ROLE "+d.Role+" SET default_transaction_read_only = on")
	requireProblem(t, doctor(d, d.Open(t)).Check(t.Context()), outbox.ReadOnly)
}

func TestWhoHoldsBackVacuum(t *testing.T) {
	defer schema.Impatient()()
	d := database.New(t)
	doctor := doctor(d, d.Open(t))
	require.Nil(t, find(examine(t, doctor), schema.OldSnapshot))

	uri := database.Server.URL(d.Name, database.Owner) + "&application_name=monthly%20report"
	holder, err := pgx.Connect(t.Context(), uri)
	require.NoError(t, err)
	defer holder.Close(t.Context())
	database.Exec(t, holder, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	database.Exec(t, holder, "SELECT 'this is nobody else''s business'")
	for range 5 {
		database.Exec(t, d.Owner, "SELECT pg_current_xact_id()")
	}
	found := find(examine(t, doctor), schema.OldSnapshot)
	require.NotNil(t, found)
	require.Contains(t, found.Message, "(monthly report)")
	require.Contains(t, found.Message, "session pid ")
	require.NotContains(t, found.Message, "business")
	database.Exec(t, holder, "ROLLBACK")
	require.Nil(t, find(examine(t, doctor), schema.OldSnapshot))
}

// A standby with feedback that is gone leaves a slot behind, which keeps all that
// was visible to it.
func TestAReplicationSlotThatHoldsBackVacuum(t *testing.T) {
	defer schema.Impatient()()
	d := database.New(t)
	doctor := doctor(d, d.Open(t))
	admin := d.Connect(t, "postgres")
	database.Exec(t, admin, "SELECT pg_create_physical_replication_slot('forgotten', true)")
	defer func() { _, _ = admin.Exec(t.Context(), "SELECT pg_drop_replication_slot('forgotten')") }()
	require.Nil(t, find(examine(t, doctor), schema.OldSnapshot), "a slot without xmin holds nothing")
	feedBack(t, admin, "forgotten")
	for range 5 {
		database.Exec(t, d.Owner, "SELECT pg_current_xact_id()")
	}
	found := find(examine(t, doctor), schema.OldSnapshot)
	require.NotNil(t, found)
	require.Contains(t, found.Message, "replication slot forgotten")
	database.Exec(t, admin, "SELECT pg_drop_replication_slot('forgotten')")
	require.Nil(t, find(examine(t, doctor), schema.OldSnapshot))
}

// feedBack is a standby that says once which transactions it still sees, and goes.
func feedBack(t *testing.T, admin *pgx.Conn, slot string) {
	t.Helper()
	config, err := pgconn.ParseConfig(database.Server.URL("postgres", "postgres"))
	require.NoError(t, err)
	config.RuntimeParams["replication"] = "true"
	standby, err := pgconn.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	at := database.Query[string](t, admin, "SELECT pg_current_wal_lsn()::text")
	standby.Frontend().SendQuery(&pgproto3.Query{String: "START_REPLICATION SLOT " + slot + " PHYSICAL " + at})
	require.NoError(t, standby.Frontend().Flush())
	xmin := database.Query[int64](t, admin, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
	message := binary.BigEndian.AppendUint64([]byte{'h'}, 0)
	message = binary.BigEndian.AppendUint32(message, uint32(xmin))
	message = binary.BigEndian.AppendUint32(message, uint32(xmin>>32))
	message = append(message, make([]byte, 8)...)
	standby.Frontend().Send(&pgproto3.CopyData{Data: message})
	require.NoError(t, standby.Frontend().Flush())
	require.Eventually(t, func() bool {
		return database.Query[bool](t, admin, "SELECT xmin IS NOT NULL FROM pg_replication_slots WHERE slot_name = $1", slot)
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, standby.Conn().Close())
	require.Eventually(t, func() bool {
		return database.Query[bool](t, admin, "SELECT NOT active FROM pg_replication_slots WHERE slot_name = $1", slot)
	}, time.Minute, 10*time.Millisecond)
}

func TestAPreparedTransactionThatHoldsBackVacuum(t *testing.T) {
	server := postgres.StartForTest(t, postgres.Options{
		NotDurable: true, Version: database.Server.Options().Version, Settings: map[string]string{"max_prepared_transactions": "2"},
	})
	defer schema.Impatient()()
	conn, err := server.Connect(t.Context(), "postgres")
	require.NoError(t, err)
	defer conn.Close(t.Context())
	table := outbox.Table{Schema: "public", Name: "outbox"}
	ddl, err := schema.DDL("Relayfleet", table)
	require.NoError(t, err)
	database.Exec(t, conn, ddl)
	database.Exec(t, conn, "BEGIN; INSERT INTO outbox (event_id) VALUES (gen_random_uuid()); PREPARE TRANSACTION 'lost and found'")
	for range 5 {
		database.Exec(t, conn, "SELECT pg_current_xact_id()")
	}
	file := filepath.Join(t.TempDir(), "uri")
	uri, _, _ := strings.Cut(server.URL("postgres", "postgres"), "?")
	require.NoError(t, os.WriteFile(file, []byte(uri), 0o600))
	db := database.Open(t, outbox.Config{URIFile: file, CAFile: server.CAFile()})
	found := find(examine(t, schema.New(db, table, outbox.Relayfleet(), schema.Use{})), schema.OldSnapshot)
	require.NotNil(t, found)
	require.Contains(t, found.Message, "prepared transaction lost and found")
}

// An application that deletes its rows in the inserting transaction, for a reader
// of the log, never shows a row to anybody.
func TestRowsThatVanish(t *testing.T) {
	d := database.New(t)
	doctor := doctor(d, d.Open(t))
	vanish := func() {
		for range 20 {
			database.Exec(t, d.Owner, "WITH i AS (INSERT INTO outbox (event_id) VALUES (gen_random_uuid()) RETURNING id) SELECT 1 FROM i")
			database.Exec(t, d.Owner, "DELETE FROM outbox")
		}
		database.Exec(t, d.Owner, "SELECT pg_stat_force_next_flush()")
	}
	vanish()
	require.Nil(t, find(examine(t, doctor), schema.RowsVanish), "one look tells nothing")
	require.Nil(t, find(examine(t, doctor), schema.RowsVanish), "nothing has happened since")
	vanish()
	found := find(examine(t, doctor), schema.RowsVanish)
	require.NotNil(t, found)
	require.Contains(t, found.Message, "20 rows were inserted and 20 deleted")

	// Rows that stay, or that are claimed before they are deleted, are as they should be.
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	vanishing := "UPDATE outbox SET status = 'SENT'"
	database.Exec(t, d.Owner, vanishing)
	database.Exec(t, d.Owner, "DELETE FROM outbox")
	database.Exec(t, d.Owner, "SELECT pg_stat_force_next_flush()")
	require.Nil(t, find(examine(t, doctor), schema.RowsVanish))
}
