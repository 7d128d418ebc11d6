package rows_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// TestPlans asserts that the statements' work does not grow with the table: not
// now, and not with a plan that was made while the table was small. The
// statistics are those that mislead: they know of no INPROGRESS row.
func TestPlans(t *testing.T) {
	for _, size := range []int{0, 100, 3000, 200_000} {
		t.Run(strconv.Itoa(size)+" rows", func(t *testing.T) { testPlans(t, size) })
	}
}

func testPlans(t *testing.T, size int) {
	d := database.New(t)
	database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, payload, status, failed_at, next_attempt_at)
		SELECT gen_random_uuid(), '\x00',
		       CASE WHEN n % 100 < 90 THEN 'SENT' WHEN n % 100 = 99 THEN 'FAILED' ELSE 'READY' END,
		       CASE WHEN n % 100 = 99 THEN now() END,
		       now() + CASE WHEN n % 2 = 0 THEN interval '-1 minute' ELSE interval '1 hour' END
		FROM generate_series(1, $1::int) AS n`, size)
	database.Exec(t, d.Owner, "VACUUM ANALYZE outbox")
	relays, err := d.Open(t).Pool().Acquire(t.Context())
	require.NoError(t, err)
	defer relays.Release()

	var keys, ones []string
	for i := range 500 {
		keys, ones = append(keys, strconv.Itoa(i*397+1)), append(ones, "1")
	}
	array := func(values []string, of string) string { return "'{" + strings.Join(values, ",") + "}'::" + of }
	ids, numbers, token := array(keys, "int8[]"), array(ones, "int8[]"), "gen_random_uuid()"
	for _, test := range []struct {
		statement, args string
		index           string
	}{
		{"claim", token + ", '30 s', '-infinity'", "outbox_queue"},
		{"claim", token + ", '30 s', '2026-01-01'", "outbox_queue"},
		{"read", ids + ", " + token, "outbox_pkey"},
		{"settle_sent", token + ", " + ids + ", " + numbers, "outbox_pkey"},
		{"settle_retry", token + ", " + ids + ", " + numbers + ", '{}', '{}'", "outbox_pkey"},
		{"settle_failed", token + ", " + ids + ", " + numbers + ", '{}'", "outbox_pkey"},
		{"release", token + ", " + ids + ", " + numbers + ", true", "outbox_pkey"},
		{"uncharge", token + ", " + ids + ", " + numbers + ", " + array(ones, "int4[]"), "outbox_pkey"},
		{"renew", token + ", " + ids + ", " + numbers + ", '30 s'", "outbox_pkey"},
		{"refused", ids, "outbox_pkey"},
		{"recover", token + ", '28 s', '32 s'", "outbox_queue"},
		{"backlog", "", "outbox_failed"},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			t.Run(test.statement+" "+mode, func(t *testing.T) {
				plan := explain(t, relays.Conn(), rows.Statements(d.Table, 500)[test.statement], test.args, mode)
				require.Contains(t, plan, test.index)
				require.NotContains(t, plan, "Seq Scan", plan)
				require.NotContains(t, plan, "Bitmap", plan)
				require.NotContains(t, plan, "Sort", plan)
				if test.index == "outbox_pkey" {
					require.Contains(t, plan, "Index Cond: (id = ANY", plan)
					require.NotContains(t, plan, "Nested Loop", plan)
					require.NotContains(t, plan, "Join", plan)
				}
			})
		}
	}
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
