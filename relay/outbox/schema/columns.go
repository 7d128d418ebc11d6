package schema

import (
	"context"
	"fmt"
	"slices"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

func (e *examination) lookAtTable(ctx context.Context) error {
	found, err := ask[relation](ctx, e, question("table"), e.table.Schema, e.table.Name)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		e.find(e.tableMissing())
		return nil
	}
	e.relation = found[0]
	if e.leaves, err = ask[leaf](ctx, e, question("leaves"), e.relation.OID); err != nil {
		return err
	}
	if e.relation.RowSecurity {
		e.find(Finding{
			Code: RowSecurity, Severity: Blocking,
			Message:    "row security applies to the role: policies decide which events it sees, and those that it does not see are never published",
			Advice:     "let the role pass over it, or switch it off for the table",
			Statements: []string{"ALTER TABLE " + e.table.SQL() + " DISABLE ROW LEVEL SECURITY;"},
		})
	}
	return nil
}

func (e *examination) tableMissing() Finding {
	f := Finding{
		Code: outbox.TableMissing, Severity: Blocking,
		Message: "there is no table " + e.table.SQL(),
		Advice:  "create it, or name another",
	}
	if ddl, err := DDL(e.use.Preset, e.table); err == nil {
		f.Statements, f.creates = []string{ddl}, true
	}
	return f
}

func (e *examination) lookAtColumns(ctx context.Context) (err error) {
	if e.shape, err = outbox.ReadShape(ctx, e.conn, e.table); err != nil {
		return err
	}
	if problem := e.mapping.Find(e.shape); problem != nil {
		e.find(e.columnsWrong(problem))
		return nil
	}
	if problem := e.use.Order.Problem(e.mapping, e.shape); problem != nil {
		e.find(Finding{
			Code: problem.Code, Severity: Blocking, Slots: problem.Slots, Message: problem.Error(),
			Advice: "change the column, or publish without an order",
		})
		return nil
	}
	if e.columns, err = ask[column](ctx, e, question("columns"), e.relation.OID); err != nil {
		return err
	}
	e.unwritable()
	e.nullable()
	return nil
}

// columnsWrong says how to mend what outbox.Mapping.Find has found.
func (e *examination) columnsWrong(problem *outbox.Problem) Finding {
	f := Finding{Code: problem.Code, Severity: Blocking, Slots: problem.Slots, Message: problem.Error()}
	switch problem.Code {
	case outbox.ColumnsMissing:
		f.Advice = "add them, or map them to others"
		f.Statements, f.creates = e.missingColumns(problem.Slots)
		if !f.creates {
			f.Advice += "; those that hold what the application says, and the status, are for it to fill before a relay runs"
		}
	case outbox.ColumnsMistyped:
		f.Advice = "change their types, or map them to others; docs/tables.md says which types can serve"
	case outbox.PermissionDenied:
		f.Advice = "grant what is missing"
		f.Statements = []string{Grants(e.table, e.mapping, e.server.Role)}
	}
	return f
}

// additions are the columns that can be added to a table with rows: what they
// hold by default is true of every row.
var additions = map[string]string{
	"topic": "text", "key": "text", "headers": "jsonb NOT NULL DEFAULT '{}'", "content_type": "text", "priority": "smallint NOT NULL DEFAULT 0",
	"generation": "bigint NOT NULL DEFAULT 0", "claim_token": "uuid", "attempts": "integer NOT NULL DEFAULT 0", "lease_until": "timestamptz",
	"next_attempt_at": "timestamptz NOT NULL DEFAULT statement_timestamp()", "created_at": "timestamptz NOT NULL DEFAULT statement_timestamp()",
	"sent_at": "timestamptz", "failed_at": "timestamptz", "last_error": "text",
}

// missingColumns adds those that can be added; all says whether these are all.
func (e *examination) missingColumns(slots []string) (statements []string, all bool) {
	all = true
	for _, slot := range e.mapping.Slots() {
		if !slices.Contains(slots, slot.Name) {
			continue
		}
		if _, there := e.shape[slot.Column]; there {
			continue
		}
		definition, ok := additions[slot.Name]
		if !ok {
			all = false
			continue
		}
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s;", e.table.SQL(), quoted(slot.Column), definition))
	}
	return statements, all
}

func (e *examination) column(name string) column {
	for _, c := range e.columns {
		if c.Name == name {
			return c
		}
	}
	return column{}
}

// unwritable: a settle writes NULL into the lease, a retry into the token too.
func (e *examination) unwritable() {
	var slots, columns, statements []string
	for _, slot := range e.mapping.Slots() {
		if !slices.Contains(e.mapping.WrittenColumns(), slot.Column) {
			continue
		}
		c := e.column(slot.Column)
		switch {
		case c.Generated:
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s ALTER %s DROP EXPRESSION;", e.table.SQL(), quoted(c.Name)))
		case c.NotNull && (slot.Name == "lease_until" || slot.Name == "claim_token"):
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s ALTER %s DROP NOT NULL;", e.table.SQL(), quoted(c.Name)))
		default:
			continue
		}
		slots, columns = append(slots, slot.Name), append(columns, c.Name)
	}
	if len(slots) > 0 {
		e.find(Finding{
			Code: ColumnsUnwritable, Severity: Blocking, Slots: slots, Statements: statements,
			Message: "columns that a claim and a settle write are generated, or refuse NULL: " + list(columns),
			Advice:  "let them be written",
		})
	}
}

// nullable: a row that is NULL there is seen by nobody, or was claimed less often
// than it says.
func (e *examination) nullable() {
	var slots, columns, statements []string
	for _, slot := range e.mapping.Slots() {
		if !slices.Contains([]string{"status", "next_attempt_at", "generation", "attempts", "event_id"}, slot.Name) || e.column(slot.Column).NotNull {
			continue
		}
		slots, columns = append(slots, slot.Name), append(columns, slot.Column)
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s ALTER %s SET NOT NULL;", e.table.SQL(), quoted(slot.Column)))
	}
	if len(slots) > 0 {
		e.find(Finding{
			Code: ColumnsNullable, Severity: Warning, Slots: slots, Statements: statements,
			Message: "columns may be NULL: " + list(columns) + ". A row without status or due time is never claimed, and one without an identity is refused",
			Advice:  "find such rows, correct them, and forbid NULL; each statement reads the table once under a lock",
		})
	}
}

// lookAtKey asks for an index that keeps ids apart. Of a partitioned table it
// has the partition's key as well.
func (e *examination) lookAtKey(ctx context.Context) (err error) {
	if e.indexes, err = ask[index](ctx, e, question("indexes"), e.relation.OID); err != nil {
		return err
	}
	if slices.ContainsFunc(e.indexes, e.keepsApart) {
		return nil
	}
	columns := quoted(e.mapping.ID)
	if e.mapping.PartitionKey != "" {
		columns += ", " + quoted(e.mapping.PartitionKey)
	}
	e.find(Finding{
		Code: IDNotUnique, Severity: Blocking, Slots: []string{"id"},
		Message: fmt.Sprintf("no primary key or unique index keeps the values of %s apart, so that a settle could change others' rows and would read the whole table", quoted(e.mapping.ID)),
		Advice:  "make it the primary key",
		Statements: []string{
			fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (%s);", e.table.SQL(), columns),
		},
	})
	return nil
}

func (e *examination) keepsApart(i index) bool {
	if !i.Unique || !i.Valid || i.Predicate != "true" || len(i.Columns) != len(i.Keys) || !slices.Contains(i.Columns, e.mapping.ID) {
		return false
	}
	for _, c := range i.Columns {
		if c != e.mapping.ID && c != e.mapping.PartitionKey {
			return false
		}
	}
	return true
}
