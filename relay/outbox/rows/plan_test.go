package rows_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// TestPlans asserts that the statements' work does not grow with the table: not
// now, and not with a plan that was made while the table was small. The
// statistics are those that mislead: they know of no INPROGRESS row.
func TestPlans(t *testing.T) {
	for preset, name := range presets {
		sizes := []int{200_000}
		if preset == "Relayfleet" {
			sizes = []int{0, 100, 3000, 200_000}
		}
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s with %d rows", preset, size), func(t *testing.T) {
				d := table{database.NewPreset(t, preset, outbox.Table{Schema: "public", Name: name})}
				testPlans(t, d, size)
			})
		}
	}
}

// fill inserts rows of which most are done, one in a hundred is FAILED where
// there is such a thing, and the others wait, half of them until later.
func (d table) fill(t *testing.T, size int) {
	t.Helper()
	m := d.Mapping
	failed := m.Failed
	if failed == "" {
		failed = m.Sent
	}
	values := map[string]string{
		m.EventID:       "gen_random_uuid()",
		m.Payload:       payloads[shape(t, d.Database)[m.Payload].Type],
		m.Key:           "'key ' || n % 1000",
		m.Status:        fmt.Sprintf("CASE WHEN n %% 100 < 90 THEN '%s' WHEN n %% 100 = 99 THEN '%s' ELSE '%s' END", m.Sent, failed, m.Ready),
		m.NextAttemptAt: "now() + CASE WHEN n % 2 = 0 THEN interval '-1 minute' ELSE interval '1 hour' END",
	}
	if shape(t, d.Database)[m.Status].Type == "smallint" {
		values[m.Status] = "(" + values[m.Status] + ")::smallint"
	}
	if m.FailedAt != "" {
		values[m.FailedAt] = "CASE WHEN n % 100 = 99 THEN now() END"
	}
	database.Exec(t, d.Owner, d.insertion(values), size)
	database.Exec(t, d.Owner, d.on("VACUUM ANALYZE %s"))
}

func testPlans(t *testing.T, d table, size int) {
	d.fill(t, size)
	database.Exec(t, d.Owner, rows.RetentionIndex(d.Table, d.Mapping, rows.Retention{}).Create)
	database.Exec(t, d.Owner, "GRANT DELETE ON "+d.Table.SQL()+" TO "+d.Role)
	relays, err := d.Open(t).Pool().Acquire(t.Context())
	require.NoError(t, err)
	defer relays.Release()
	statements := rows.Statements(d.Table, d.Mapping, shape(t, d.Database), 500)

	fence, ids, numbers := d.someKeys(t)
	guarded := func(more ...string) []string { return append([]string{fence, ids, numbers, "NULL"}, more...) }
	queue, suspects, failed := d.Table.Name+"_queue", d.Table.Name+"_suspects", d.Table.Name+"_failed"
	primary := d.Table.Name + "_pkey"
	for _, test := range []struct {
		statement string
		args      []string
		index     string
	}{
		{"durable", nil, suspects},
		{"claim", []string{fence, "'30 s'", "'-infinity'", "NULL", "'{}'"}, queue},
		{"claim", []string{fence, "'30 s'", "'2026-01-01'", "NULL", "'{(2026-01-01,2026-01-02]}'"}, queue},
		{"suspects", []string{fence, "'30 s'", fence, "10", "'{}'"}, suspects},
		{"abandon", []string{"10", "NULL", "NULL", "NULL", "'{}'"}, suspects},
		{"read", guarded(), primary},
		{"settle_sent", guarded(), primary},
		{"settle_retry", guarded("'{}'", "'{}'"), primary},
		{"settle_failed", guarded("'{}'"), primary},
		{"release", guarded("true"), primary},
		{"uncharge", guarded("'{}'"), primary},
		{"renew", guarded("'30 s'"), primary},
		{"refused", guarded(), primary},
		{"replay", guarded("now()"), primary},
		{"recover", []string{fence, "'28 s'", "'32 s'"}, queue},
		{"recover_suspects", []string{fence, "'28 s'", "'32 s'"}, suspects},
		{"retention", []string{"'1 hour'"}, d.Table.Name + "_retention"},
		{"backlog", nil, queue},
		{"backlog", nil, failed},
	} {
		statement, ok := statements[test.statement]
		if !ok || test.index == failed && d.Mapping.Failed == "" {
			continue // What the table cannot do.
		}
		var args []string
		for _, n := range statement.Params {
			args = append(args, test.args[n-1])
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			t.Run(test.statement+" "+mode, func(t *testing.T) {
				plan := explain(t, relays.Conn(), statement.SQL, strings.Join(args, ", "), mode)
				require.Contains(t, plan, test.index)
				// What the server's own catalogue is read with does not grow with the table.
				ours := strings.Join(mentioning(plan, d.Table.Name), "\n")
				require.NotContains(t, ours, "Seq Scan", plan)
				require.NotContains(t, ours, "Bitmap", plan)
				if test.statement != "backlog" {
					require.NotContains(t, plan, "Sort", plan)
				}
				if test.statement == "claim" {
					require.Contains(t, plan, "Index Cond: ("+d.Mapping.ID+" = ANY", plan)
					require.NotContains(t, plan, "Nested Loop", plan)
					require.NotContains(t, strings.ReplaceAll(plan, "InitPlan", ""), "SubPlan", "nothing is searched for per row")
				}
				if test.index == primary {
					require.Contains(t, plan, "Index Cond: ("+d.Mapping.ID+" = ANY", plan)
					require.NotContains(t, plan, "Nested Loop", plan)
					require.NotContains(t, plan, "Join", plan)
				}
			})
		}
	}
}

// A claim by key over partitions, and what follows it, look rows up in each
// partition's own indexes.
func TestPlansOfAnOrderOverPartitions(t *testing.T) {
	d := openPartitionedOrdered(t, orders["halting"])
	d.fill(t, 100_000)
	relays, err := d.Open(t).Pool().Acquire(t.Context())
	require.NoError(t, err)
	defer relays.Release()
	statements := rows.OrderedStatements(d.Table, d.Mapping, shape(t, d.Database), 500, d.order)
	fence, ids, numbers := d.someKeys(t)
	guarded := []string{fence, ids, numbers, "array_fill(" + fence + "::text, '{500}')"}
	for name, args := range map[string][]string{
		"claim": {fence, "'30 s'", "'-infinity'", "NULL", "'{}'"}, "suspects": {fence, "'30 s'", fence, "10", "'{}'"},
		"read": guarded, "settle_sent": guarded, "refused": guarded,
	} {
		var chosen []string
		for _, n := range statements[name].Params {
			chosen = append(chosen, args[n-1])
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				plan := explain(t, relays.Conn(), statements[name].SQL, strings.Join(chosen, ", "), mode)
				require.Contains(t, plan, "Index Scan")
				require.NotContains(t, plan, "Seq Scan", plan)
				require.NotContains(t, plan, "Bitmap", plan)
			})
		}
	}
}

// someKeys are a fence and the keys of 500 rows, as literals.
func (d table) someKeys(t *testing.T) (fence, ids, numbers string) {
	t.Helper()
	found, err := pgx.CollectRows(d.query(t, d.on("SELECT "+quote(d.Mapping.ID)+"::text FROM %s LIMIT 500")), pgx.RowTo[string])
	require.NoError(t, err)
	for len(found) < 500 {
		switch shape(t, d.Database)[d.Mapping.ID].Type {
		case "bigint":
			found = append(found, strconv.Itoa(1_000_000+len(found)))
		default:
			found = append(found, "01890a5d-ac96-774b-bcce-b302099a8"+fmt.Sprintf("%03d", len(found)))
		}
	}
	ones := strings.TrimSuffix(strings.Repeat("1,", 500), ",")
	fence = "'01890a5d-ac96-774b-bcce-b302099a8057'"
	if d.Mapping.ClaimToken == "" {
		fence = "pg_postmaster_start_time()::text"
	}
	return fence, "'{" + strings.Join(found, ",") + "}'", "'{" + ones + "}'::int8[]"
}

// mentioning are the lines of a plan that name a table or its indexes.
func mentioning(plan, name string) []string {
	var lines []string
	for line := range strings.Lines(plan) {
		if strings.Contains(line, name) {
			lines = append(lines, line)
		}
	}
	return lines
}

func explain(t *testing.T, conn *pgx.Conn, statement, args, mode string) string {
	t.Helper()
	database.Exec(t, conn, "SET plan_cache_mode = "+mode)
	database.Exec(t, conn, "DEALLOCATE ALL")
	database.Exec(t, conn, "PREPARE planned AS "+statement, pgx.QueryExecModeSimpleProtocol)
	execute := "EXPLAIN EXECUTE planned"
	if args != "" {
		execute += "(" + args + ")"
	}
	found, err := conn.Query(t.Context(), execute, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(found, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}
