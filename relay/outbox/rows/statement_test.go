package rows_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files instead of comparing with them")

var oddTable = outbox.Table{Schema: `Shop "1"`, Name: `out; DROP TABLE "box"`}

func TestStatementsAsTheyAreSent(t *testing.T) {
	for preset, name := range presets {
		t.Run(preset, func(t *testing.T) {
			compareStatements(t, strings.ToLower(preset)+".sql", database.NewPreset(t, preset, outbox.Table{Schema: "public", Name: name}), rows.Order{})
		})
	}
	t.Run("a partitioned table", func(t *testing.T) {
		d := openPartitionedOrdered(t, orders["halting"])
		compareStatements(t, "partitioned.sql", d.Database, rows.Order{})
		compareStatements(t, "partitioned_halting.sql", d.Database, d.order)
	})
	t.Run("a table with an odd name", func(t *testing.T) { compareStatements(t, "odd_name.sql", database.NewNamed(t, oddTable), rows.Order{}) })
	plain := outbox.Table{Schema: "public", Name: "outbox"}
	// What an order leaves as it is stands in relayfleet.sql.
	for name, order := range orders {
		t.Run(name, func(t *testing.T) { compareStatements(t, name+".sql", database.NewNamed(t, plain), order) })
	}
}

// orders are those that a store can keep.
var orders = map[string]rows.Order{
	"halting": {ByKey: true, Halt: true}, "skipping": {ByKey: true}, "priority": {ByPriority: true, OldestPercent: 10},
}

func compareStatements(t *testing.T, file string, d database.Database, o rows.Order) {
	t.Helper()
	statements := rows.OrderedStatements(d.Table, d.Mapping, shape(t, d), 25, o)
	if o != (rows.Order{}) {
		plain := rows.Statements(d.Table, d.Mapping, shape(t, d), 25)
		maps.DeleteFunc(statements, func(name string, s rows.Statement) bool { return s.SQL == plain[name].SQL })
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(statements)) {
		text.WriteString("-- " + name + ", parameters")
		for _, n := range statements[name].Params {
			text.WriteString(" " + strconv.Itoa(n))
		}
		text.WriteString("\n" + statements[name].SQL + "\n\n")
		_, err := d.Owner.Prepare(t.Context(), file+name, statements[name].SQL)
		require.NoError(t, err, name)
	}
	text.WriteString("-- indexes\n")
	if o == (rows.Order{}) {
		text.WriteString(rows.CreateIndexes(d.Table, d.Mapping))
	}
	for _, index := range rows.OrderIndexes(d.Table, d.Mapping, o) {
		text.WriteString(index.Create + "\n")
	}
	golden := filepath.Join("testdata", file)
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())
	require.NotContains(t, text.String(), "/*", "a hole was not filled")
}

// Each file is a statement that can be run as it stands.
func TestFilesCanBeRunAsTheyStand(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "DROP INDEX outbox_queue, outbox_suspects, outbox_failed")
	for _, name := range rows.Files() {
		if strings.HasPrefix(name, "index") {
			database.Exec(t, d.Owner, rows.Raw(name))
			continue
		}
		_, err := d.Owner.Prepare(t.Context(), name, rows.Raw(name))
		if err != nil {
			// Not every statement uses the first four parameters: some only have to be the same everywhere, and
			// some a partitioned table alone does.
			require.Regexp(t, `could not determine data type of parameter \$[1234] `, err.Error(), name)
		}
	}
}

// Names that look like the marks of a template, or like parameters, are names.
func TestNamesCannotChangeAStatement(t *testing.T) {
	for _, name := range []string{`/*if token*/`, `*/ OR true --`, `{ready}`, `a$1`, `o.id`, `/*end*/`, `"`, "line\nbreak", `\`, `'; DROP TABLE x; --`} {
		d := database.NewEmpty(t, outbox.Table{Schema: "public", Name: "outbox"})
		m := outbox.Relayfleet()
		m.Key, m.LastError, m.ContentType = name, name+"2", name+"3"
		m.InProgress, m.Failed = name, name+"4"
		m.HeaderColumns = []outbox.HeaderColumn{{Name: "h", Column: name + "5"}}
		d.Mapping = m
		q := quote
		database.Exec(t, d.Owner, `CREATE TABLE outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event_id uuid DEFAULT gen_random_uuid(),
			topic text, `+q(m.Key)+` text DEFAULT 'k', payload bytea, headers jsonb, priority int, status text DEFAULT 'READY', generation bigint DEFAULT 0,
			claim_token uuid, attempts int DEFAULT 0, lease_until timestamptz, next_attempt_at timestamptz DEFAULT now(), created_at timestamptz DEFAULT now(),
			sent_at timestamptz, failed_at timestamptz, `+q(m.LastError)+` text, `+q(m.ContentType)+` text, `+q(m.HeaderColumns[0].Column)+` text DEFAULT 'v')`)
		database.Exec(t, d.Owner, rows.CreateIndexes(d.Table, m))
		database.Exec(t, d.Owner, "GRANT SELECT, UPDATE ON outbox TO "+d.Role)
		database.Exec(t, d.Owner, "INSERT INTO outbox DEFAULT VALUES")
		b := claim(t, newStore(t, d), 10)
		require.Len(t, b.Events, 1, name)
		require.Equal(t, "k", string(b.Events[0].Key))
		require.Equal(t, "v", string(b.Events[0].Headers[0].Value))
		require.Equal(t, name, database.Query[string](t, d.Owner, "SELECT status FROM outbox"))
	}
}
