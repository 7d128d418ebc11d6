package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Made-up values of the columns that a relay writes.
const (
	someTime  = "'2026-01-01 00:00:00+00'"
	otherTime = "'2026-01-02 00:00:00+00'"
	someUUID  = "'01890a5d-ac96-474b-bcce-b302099a8057'"
	otherUUID = "'01890a5d-ac96-474b-bcce-b302099a8058'"
)

// world is a FROM clause with made-up rows: each combination of the values that
// the columns of a claim can have. Columns of which nothing is known are NULL.
func (e *examination) world() string {
	var lists, columns []string
	for i, c := range e.columns {
		values := e.valuesOf(c.Name)
		if len(values) < 2 {
			columns = append(columns, fmt.Sprintf("%s::%s AS %s", values[0], c.Base, quoted(c.Name)))
			continue
		}
		lists = append(lists, fmt.Sprintf("(VALUES (%s)) AS l%d (v)", strings.Join(values, "), ("), i))
		columns = append(columns, fmt.Sprintf("l%d.v::%s AS %s", i, c.Base, quoted(c.Name)))
	}
	return "FROM (SELECT " + strings.Join(columns, ", ") + " FROM " + strings.Join(lists, " CROSS JOIN ") + ") AS world"
}

// valuesOf are the values that a column has in the world, as untyped literals.
func (e *examination) valuesOf(name string) []string {
	m := e.mapping
	switch name {
	case "":
	case m.Status:
		return e.sound
	case m.LeaseUntil, m.FailedAt, m.SentAt:
		return []string{"NULL", someTime}
	case m.ClaimToken:
		return []string{"NULL", someUUID}
	case m.LastError:
		return []string{"NULL", "'refused'"}
	case m.NextAttemptAt:
		return []string{otherTime}
	case m.Counter():
		return []string{"'0'", "'1'", "'2'", "'3'"}
	case m.Generation:
		return []string{"'1'"}
	case m.Order():
		return []string{e.someKey(name, "'1'", someUUID)}
	case m.Key:
		return []string{e.someKey(name, "'2'", otherUUID)}
	case m.Priority:
		return []string{"'3'"}
	}
	return []string{"NULL"}
}

func (e *examination) someKey(column, text, uuid string) string {
	if e.shape[column].Type == "uuid" {
		return uuid
	}
	return text
}

// claimColumns are those of which the world knows what a relay writes there.
func (e *examination) claimColumns() []string {
	m := e.mapping
	return []string{m.Status, m.LeaseUntil, m.FailedAt, m.SentAt, m.ClaimToken, m.LastError, m.NextAttemptAt, m.Attempts, m.Generation}
}

// state is a made-up row, as far as a constraint on it is looked at.
type state struct {
	Status          string
	Leased, Failing bool
}

// admitted are the states that a constraint lets in, in at least one form. known
// is false when it cannot be told, as when a function in it is not the role's to call.
func (e *examination) admitted(ctx context.Context, expression string) (states map[state]bool, known bool, err error) {
	sql := fmt.Sprintf("SELECT %s::text, %s IS NOT NULL, %s, bool_or((%s) IS NOT FALSE) %s GROUP BY 1, 2, 3",
		quoted(e.mapping.Status), quoted(e.mapping.LeaseUntil), e.failing(), expression, e.world())
	type answer struct {
		Status                    string
		Leased, Failing, Admitted bool
	}
	found, err := ask[answer](ctx, e, sql)
	if cannotSay(err) {
		return nil, false, nil
	}
	states = map[state]bool{}
	for _, a := range found {
		states[state{a.Status, a.Leased, a.Failing}] = a.Admitted
	}
	return states, err == nil, err
}

func (e *examination) failing() string {
	if e.mapping.FailedAt == "" {
		return "false"
	}
	return quoted(e.mapping.FailedAt) + " IS NOT NULL"
}

// cannotSay: the server has refused to evaluate an expression. A broken
// connection, or a statement that was ended, is another thing.
func cannotSay(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && !slices.Contains([]string{"57", "08", "53", "58", "XX"}, server.Code[:2])
}

// typed is a literal that stands for a value of any type.
func typed(value string) string {
	if strings.Contains(value, `\`) {
		return `E'` + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(value) + `'`
	}
	return `'` + strings.ReplaceAll(value, `'`, `''`) + `'`
}
