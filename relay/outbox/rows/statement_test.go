package rows_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files instead of comparing with them")

var oddTable = outbox.Table{Schema: `Shop "1"`, Name: `out; DROP TABLE "box"`}

func TestStatementsAsTheyAreSent(t *testing.T) {
	for file, table := range map[string]outbox.Table{
		"relayfleet.sql": {Schema: "public", Name: "outbox"},
		"odd_name.sql":   oddTable,
	} {
		t.Run(file, func(t *testing.T) {
			statements := rows.Statements(table, 25)
			var text strings.Builder
			for _, name := range slices.Sorted(maps.Keys(statements)) {
				text.WriteString("-- " + name + "\n" + statements[name] + "\n\n")
			}
			text.WriteString("-- index\n" + rows.Indexes(table) + "\n")
			golden := filepath.Join("testdata", file)
			if *rewrite {
				require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), text.String())
			require.NotContains(t, text.String(), "/*", "a hole was not filled")
		})
	}
}
