// Package database gives each test a database of its own on one real PostgreSQL
// server per test binary.
package database

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

// VersionVariable names the environment variable that chooses PostgreSQL's
// major version; unset: the newest that is supported.
const VersionVariable = "RELAYFLEET_TEST_POSTGRES"

// Owner is the role that owns the databases; it is not the relay's.
const Owner = "shop"

// Server is the test binary's own, from Main on.
var Server *postgres.Server

// Main starts the server, runs the tests and stops it; for TestMain.
func Main(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	version, _ := strconv.Atoi(os.Getenv(VersionVariable))
	server, err := postgres.Start(ctx, postgres.Options{Version: version, NotDurable: true, DieWithCaller: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, "start PostgreSQL:", err)
		return 1
	}
	defer func() { _ = server.Remove(ctx) }()
	if err := server.CreateRole(ctx, Owner); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	Server = server
	return m.Run()
}

// Database is one test's own, with an empty outbox and a role for the relay
// that has the grants of package schema and no others.
type Database struct {
	Name string
	// Role is the relay's.
	Role string
	// Table is the outbox, Mapping says what its columns mean.
	Table   outbox.Table
	Mapping outbox.Mapping
	// URIFile is what the relay reads: its role's connection URI.
	URIFile string
	// Owner is a connection as the owner of the database.
	Owner *pgx.Conn
}

// New makes a database with an outbox of the default name.
func New(t testing.TB) Database { return NewNamed(t, outbox.Table{Schema: "public", Name: "outbox"}) }

// NewNamed makes a database with a Relayfleet table of that name.
func NewNamed(t testing.TB, table outbox.Table) Database { return NewPreset(t, "Relayfleet", table) }

// NewPreset makes a database with a preset's table of that name.
func NewPreset(t testing.TB, preset string, table outbox.Table) Database {
	t.Helper()
	d := NewEmpty(t, table)
	mapping, ok := outbox.Preset(preset)
	require.True(t, ok, preset)
	d.Mapping = mapping
	ddl, err := schema.DDL(preset, table)
	require.NoError(t, err)
	Exec(t, d.Owner, ddl+schema.Grants(table, d.Mapping, d.Role))
	return d
}

// NewEmpty makes a database that has the table's schema and no table.
func NewEmpty(t testing.TB, table outbox.Table) Database {
	t.Helper()
	name := "t" + strconv.FormatInt(time.Now().UnixNano(), 36)
	d := Database{Name: name, Role: "relay_" + name, Table: table, URIFile: filepath.Join(t.TempDir(), "uri")}
	require.NoError(t, Server.CreateRole(t.Context(), d.Role))
	require.NoError(t, Server.CreateDatabase(t.Context(), name, Owner))
	d.Owner = d.Connect(t, Owner)
	Exec(t, d.Owner, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{table.Schema}.Sanitize())
	d.WriteURI(t, d.URI(d.Role))
	return d
}

// URI is a role's connection URI, as a Secret has it: without TLS parameters.
func (d Database) URI(role string) string {
	uri, _, _ := strings.Cut(Server.URL(d.Name, role), "?")
	return uri
}

// WriteURI replaces the content of URIFile.
func (d Database) WriteURI(t testing.TB, uri string) {
	t.Helper()
	require.NoError(t, os.WriteFile(d.URIFile, []byte(uri+"\n"), 0o600))
}

// Connect opens a connection of a role that ends with the test.
func (d Database) Connect(t testing.TB, role string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), Server.URL(d.Name, role))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Config is the relay's configuration for this database.
func (d Database) Config() outbox.Config {
	return outbox.Config{URIFile: d.URIFile, CAFile: Server.CAFile()}
}

// Open opens it as the relay does, until the test ends.
func (d Database) Open(t testing.TB) *outbox.DB { return Open(t, d.Config()) }

// Open opens a database until the test ends.
func Open(t testing.TB, config outbox.Config) *outbox.DB {
	t.Helper()
	db, err := outbox.Open(config)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

// Exec runs statements.
func Exec(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// Query returns the only value of the only row.
func Query[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return value
}
