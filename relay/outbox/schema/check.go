// Package schema looks after the table: what it must have, what it lacks, and
// how to make it. It creates nothing by itself.
package schema

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

//go:embed columns.sql
var columnsSQL string

// need is a column that the statements use.
type need struct {
	slot    string
	types   []string // as PostgreSQL's format_type names them, without lengths
	written bool     // needs UPDATE as well as SELECT
}

var (
	texts      = []string{"text", "character varying"}
	timestamps = []string{"timestamp with time zone"}
)

// needs are the columns of the Relayfleet table, without those that no
// statement reads. Slots are named as these columns.
var needs = []need{
	{slot: "id", types: []string{"bigint"}},
	{slot: "event_id", types: []string{"uuid"}},
	{slot: "topic", types: texts},
	{slot: "key", types: texts},
	{slot: "payload", types: []string{"bytea"}},
	{slot: "headers", types: []string{"jsonb", "json"}},
	{slot: "status", types: texts, written: true},
	{slot: "generation", types: []string{"bigint"}, written: true},
	{slot: "claim_token", types: []string{"uuid"}, written: true},
	{slot: "attempts", types: []string{"integer"}, written: true},
	{slot: "lease_until", types: timestamps, written: true},
	{slot: "next_attempt_at", types: timestamps, written: true},
	{slot: "created_at", types: timestamps},
	{slot: "sent_at", types: timestamps, written: true},
	{slot: "failed_at", types: timestamps, written: true},
	{slot: "last_error", types: texts, written: true},
}

// column is what the catalogue says of one.
type column struct {
	Name     *string
	Type     *string
	Readable *bool
	Writable *bool
}

// patience bounds the whole check.
const patience = 15 * time.Second

// Check looks whether the table can serve, and returns an *outbox.Problem when
// it cannot, or when the database cannot be asked. It names everything of one
// kind at once: first all that is missing, then all that has a wrong type, then
// all that the role may not read or write.
func Check(ctx context.Context, db *outbox.DB, table outbox.Table) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	columns, err := read(ctx, db, table)
	if err != nil {
		return fmt.Errorf("check the table: %w", db.Failed(err))
	}
	if problem := find(columns); problem != nil {
		return fmt.Errorf("check the table: %w", problem)
	}
	return nil
}

func read(ctx context.Context, db *outbox.DB, table outbox.Table) ([]column, error) {
	rows, err := db.Pool().Query(ctx, columnsSQL, table.Schema, table.Name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[column])
}

// find compares; nil means that nothing is wrong.
func find(columns []column) *outbox.Problem {
	if len(columns) == 0 {
		return &outbox.Problem{Code: outbox.TableMissing, Err: fmt.Errorf("there is no such table")}
	}
	found := map[string]column{}
	for _, c := range columns {
		if c.Name != nil {
			found[*c.Name] = c
		}
	}
	isMissing := func(n need) bool { return found[n.slot].Name == nil }
	isMistyped := func(n need) bool { return !slices.Contains(n.types, *found[n.slot].Type) }
	isDenied := func(n need) bool { c := found[n.slot]; return !*c.Readable || n.written && !*c.Writable }
	for _, check := range []struct {
		code, sentence string
		failed         func(need) bool
	}{
		{outbox.ColumnsMissing, "columns are missing", isMissing},
		{outbox.ColumnsMistyped, "columns have a type that cannot serve", isMistyped},
		{outbox.PermissionDenied, "the role lacks SELECT or UPDATE on columns", isDenied},
	} {
		if slots := slotsThat(check.failed); len(slots) > 0 {
			err := fmt.Errorf("%s: %s", check.sentence, strings.Join(slots, ", "))
			return &outbox.Problem{Code: check.code, Slots: slots, Err: err}
		}
	}
	return nil
}

func slotsThat(failed func(need) bool) (slots []string) {
	for _, n := range needs {
		if failed(n) {
			slots = append(slots, n.slot)
		}
	}
	return slots
}
