package outbox

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed shape.sql
var shapeSQL string

// Column is what the catalogue says of one, and what this role may do with it.
type Column struct {
	// Type is as PostgreSQL's format_type names it, without length; "enum" for
	// every enum.
	Type     string
	NotNull  bool
	Readable bool
	Writable bool
	// Scattered: the table is partitioned and does not draw the column from one
	// sequence, so that a row of one partition may have a smaller number than an
	// earlier one of another.
	Scattered bool
	// Shuffled: a sequence of the column falls, or hands out numbers to each
	// session in blocks, so that a row may have a smaller number than an earlier
	// one.
	Shuffled bool
}

// Shape are the columns of a table by name.
type Shape map[string]Column

// Querier is a connection, or a pool of them.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// ReadShape reads the catalogue. The error is a *Problem with TableMissing when
// there is no such table.
func ReadShape(ctx context.Context, q Querier, table Table) (Shape, error) {
	found, err := q.Query(ctx, shapeSQL, table.Schema, table.Name)
	if err != nil {
		return nil, fmt.Errorf("read the columns of the table: %w", err)
	}
	type entry struct {
		Name, Type                                       *string
		NotNull, Readable, Writable, Scattered, Shuffled *bool
	}
	entries, err := pgx.CollectRows(found, pgx.RowToStructByPos[entry])
	if err != nil {
		return nil, fmt.Errorf("read the columns of the table: %w", err)
	}
	if len(entries) == 0 {
		return nil, &Problem{Code: TableMissing, Err: fmt.Errorf("there is no such table")}
	}
	shape := Shape{}
	for _, e := range entries {
		if e.Name != nil {
			shape[*e.Name] = Column{
				Type: *e.Type, NotNull: *e.NotNull, Readable: *e.Readable, Writable: *e.Writable,
				Scattered: *e.Scattered, Shuffled: *e.Shuffled,
			}
		}
	}
	return shape, nil
}

// The types that a column can have, by what it is for.
var (
	texts      = []string{"text", "character varying"}
	numbers    = []string{"bigint", "integer", "smallint"}
	keys       = []string{"bigint", "integer", "uuid", "text", "character varying"}
	timestamps = []string{"timestamp with time zone"}
	printable  = slices.Concat(keys, []string{"smallint", "numeric", "boolean", "timestamp with time zone", "date", "enum"})
	// typesOf says what a slot's column may be.
	typesOf = map[string][]string{
		"id": keys, "event_id": keys, "sequence": numbers, "topic": texts, "key": keys,
		"payload": {"bytea", "text", "character varying", "json", "jsonb"}, "headers": {"jsonb", "json"},
		"content_type": texts, "priority": numbers,
		"status":     {"text", "character varying", "smallint", "integer", "bigint", "enum"},
		"generation": {"bigint"}, "claim_token": {"uuid", "text", "character varying"}, "attempts": numbers,
		"lease_until": timestamps, "next_attempt_at": timestamps, "created_at": timestamps, "sent_at": timestamps,
		"failed_at": timestamps, "last_error": texts,
		// Each of these has an order and a name that a statement can cast to.
		"partition_key": slices.Concat(keys, []string{
			"smallint", "numeric", "boolean", "timestamp with time zone", "timestamp without time zone", "date",
		}),
		"header": printable, "topic_part": printable,
	}
	// writtenSlots need UPDATE as well as SELECT.
	writtenSlots = []string{
		"status", "generation", "claim_token", "attempts", "lease_until", "next_attempt_at", "sent_at", "failed_at", "last_error",
	}
)

// Find compares a table with what a mapping expects of it, and returns the first
// kind of problem with everything that it is about: first all that is missing,
// then all that has a wrong type, then all that the role may not read or write.
func (m Mapping) Find(shape Shape) *Problem {
	for _, check := range []struct {
		code, sentence string
		failed         func(Slot) bool
	}{
		{ColumnsMissing, "columns are missing", func(s Slot) bool { _, there := shape[s.Column]; return !there }},
		{ColumnsMistyped, "columns have a type that cannot serve", func(s Slot) bool {
			return !slices.Contains(typesOf[s.Name], shape[s.Column].Type)
		}},
		{PermissionDenied, "the role lacks SELECT or UPDATE on columns", func(s Slot) bool {
			c := shape[s.Column]
			return !c.Readable || slices.Contains(writtenSlots, s.Name) && !c.Writable
		}},
	} {
		var slots, columns []string
		for _, s := range m.Slots() {
			if check.failed(s) {
				slots, columns = append(slots, s.Name), append(columns, s.Column)
			}
		}
		if len(slots) > 0 {
			return &Problem{Code: check.code, Slots: slots, Err: fmt.Errorf("%s: %s", check.sentence, strings.Join(columns, ", "))}
		}
	}
	return nil
}

// WrittenColumns are the columns that a relay's role needs UPDATE on.
func (m Mapping) WrittenColumns() []string {
	var columns []string
	for _, s := range m.Slots() {
		if slices.Contains(writtenSlots, s.Name) {
			columns = append(columns, s.Column)
		}
	}
	return columns
}
