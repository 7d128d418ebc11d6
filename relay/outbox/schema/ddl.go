package schema

import (
	_ "embed"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

var (
	//go:embed outbox.sql
	tableSQL string
	//go:embed grants.sql
	grantsSQL string
)

// DDL is the Relayfleet table with its indexes, under the name of table.
func DDL(table outbox.Table) string {
	return fill(tableSQL, table, "") + "\n" + rows.Indexes(table) + "\n"
}

// Grants are what the role of a relay needs on table, and no more.
func Grants(table outbox.Table, role string) string { return fill(grantsSQL, table, role) }

// fill replaces the names that the files stand with; see package rows for the form.
func fill(text string, table outbox.Table, role string) string {
	return strings.NewReplacer(
		"/*table*/public.outbox", table.SQL(),
		"/*schema*/public", pgx.Identifier{table.Schema}.Sanitize(),
		"/*role*/relayfleet", pgx.Identifier{role}.Sanitize(),
	).Replace(text)
}
