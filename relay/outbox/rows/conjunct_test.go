package rows_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// conjuncts are the parts of the guard, and the case that each of them alone
// refuses. Statements are cut where the golden files show them.
var conjuncts = []struct {
	name string
	// from and to enclose the conjunct, in a statement as it is sent.
	from, to string
	// is what has happened to the row; empty: another row of the same claim is meant.
	is outboxtest.Disturbance
}{
	{"id", `o."id" OPERATOR(pg_catalog.=) ANY`, "\n  AND ((o", ""},
	{"generation", "AND ((o.", "IS TRUE", outboxtest.AnotherGeneration},
	{"status", `AND (o."status"::pg_catalog.text`, "'INPROGRESS'", outboxtest.AlreadySent},
	{"token", `AND o."claim_token" OPERATOR(pg_catalog.=)`, "::pg_catalog.uuid)", outboxtest.AnotherToken},
	{"lease", `AND o."lease_until" OPERATOR(pg_catalog.>)`, "clock_timestamp()", outboxtest.LeaseEnded},
}

// without cuts a conjunct out of a statement.
func without(t *testing.T, statement, from, to string) string {
	t.Helper()
	where := strings.Index(statement, "WHERE")
	begin := strings.Index(statement[where:], from)
	require.GreaterOrEqual(t, begin, 0, "%s in %s", from, statement)
	begin += where
	end := strings.Index(statement[begin:], to)
	require.GreaterOrEqual(t, end, 0, "%s in %s", to, statement)
	end += begin
	if !strings.HasPrefix(to, "\n") {
		end += len(to)
	}
	return statement[:begin] + map[bool]string{true: "true", false: ""}[begin == where+len("WHERE ")] + statement[end:]
}

// TestEveryConjunctOfTheGuardIsNeeded takes each conjunct away from each guarded
// statement and shows a stale write that the whole guard refuses. The table has
// no CHECK constraints, which would make some of them redundant: see
// docs/tables.md for which.
func TestEveryConjunctOfTheGuardIsNeeded(t *testing.T) {
	d := open(t, "Relayfleet", outbox.Table{Schema: "public", Name: "outbox"})
	statements := rows.Statements(d.Table, d.Mapping, shape(t, d.Database), 10)
	// The statements, and what they take beyond the guard's parameters.
	guarded := map[string]func(delays map[string]int64) []any{
		"settle_sent":   func(map[string]int64) []any { return nil },
		"settle_retry":  func(delays map[string]int64) []any { return []any{delays, map[string]string{}} },
		"settle_failed": func(map[string]int64) []any { return []any{map[string]string{}} },
		"release":       func(map[string]int64) []any { return []any{true} },
		"renew":         func(map[string]int64) []any { return []any{outboxtest.Lease} },
	}
	for name, more := range guarded {
		for _, c := range conjuncts {
			t.Run(name+" without the "+c.name, func(t *testing.T) {
				changes := func(statement string) int64 {
					d.Insert(t, 2)
					batch, err := d.Store(t).Claim(t.Context(), event.Ask{Rows: 2})
					require.NoError(t, err)
					if c.is != "" {
						d.Disturb(t, batch.Events[0].ID, c.is)
					}
					defer database.Exec(t, d.Owner, "DELETE FROM outbox")
					args := append([]any{fmt.Sprintf("%x", batch.Token), []int64{number(t, batch.Events[0].Row)}, []int64{1}},
						more(map[string]int64{batch.Events[0].Row: 0, batch.Events[1].Row: 0})...)
					tag, err := d.Owner.Exec(t.Context(), statement, args...)
					require.NoError(t, err)
					return tag.RowsAffected()
				}
				whole := statements[name].SQL
				mutant := without(t, whole, c.from, c.to)
				if c.name == "id" {
					// The generations name the rows as well; without both, all of the claim is changed.
					mutant = without(t, mutant, "AND ((o.", "IS TRUE")
					require.Equal(t, int64(1), changes(whole), "only the row that is named")
					require.Equal(t, int64(2), changes(pad(mutant)), "a row that is not named")
					return
				}
				require.Zero(t, changes(whole))
				require.Equal(t, int64(1), changes(pad(mutant)), "a stale write")
			})
		}
	}
}

func number(t *testing.T, id string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(id, 10, 64)
	require.NoError(t, err)
	return n
}

// pad mentions every parameter, since a cut may have taken the only mention away.
func pad(statement string) string {
	mention := " AND ($1::pg_catalog.text IS NOT NULL OR $2::pg_catalog.int8[] IS NOT NULL OR $3::pg_catalog.int8[] IS NOT NULL)"
	return strings.TrimSuffix(statement, ";") + mention
}
