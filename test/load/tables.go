package load

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

//go:embed tables.sql
var tablesSQL string

// Tables are the outbox and the tables of this package, all in one schema.
type Tables struct {
	pool   *pgxpool.Pool
	outbox outbox.Table
}

// NewTables names tables; it asks the database nothing. The pool's role must be
// able to read and write them.
func NewTables(pool *pgxpool.Pool, table outbox.Table) Tables { return Tables{pool, table} }

// Outbox is the table that the relays drain.
func (t Tables) Outbox() outbox.Table { return t.outbox }

// Create makes the schema, if it is missing, and the tables of this package,
// and the outbox beside them.
func (t Tables) Create(ctx context.Context) error {
	table, err := schema.DDL("Relayfleet", t.outbox)
	if err != nil {
		return fmt.Errorf("create the load's tables: %w", err)
	}
	ddl := "CREATE SCHEMA IF NOT EXISTS " + t.schema() + ";\n" + table + t.sql(tablesSQL)
	if _, err := t.pool.Exec(ctx, ddl); err != nil {
		return fmt.Errorf("create the load's tables: %w", err)
	}
	return nil
}

func (t Tables) schema() string { return pgx.Identifier{t.outbox.Schema}.Sanitize() }

// sql puts the real names in place of those that a statement stands with.
func (t Tables) sql(text string) string {
	return strings.NewReplacer("/*outbox*/public.outbox", t.outbox.SQL(), "/*schema*/public", t.schema()).Replace(text)
}
