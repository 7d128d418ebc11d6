package schema_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

var rewrite = flag.Bool("rewrite", false, "write the tables into docs/tables.md instead of comparing with them")

// names are the tables as the docs show them.
var names = map[string]string{
	"Relayfleet": "outbox", "Lab": "outbox_lab", "StatusCodes": "notification_outbox", "Token": "delivery_outbox", "Debezium": "outboxevent",
}

// The docs show what the code makes.
func TestTheDocsShowTheTablesAsTheyAre(t *testing.T) {
	const file = "../../../docs/tables.md"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	text := string(data)
	for preset, name := range names {
		text = withBlock(t, text, "<!-- "+preset+" -->", "```sql\n"+printed(t, preset, name)+"```\n")
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return
	}
	require.Equal(t, string(data), text, "run the test with -rewrite")
}

func printed(t *testing.T, preset, name string) string {
	t.Helper()
	table := outbox.Table{Schema: "public", Name: name}
	text, err := schema.Print(preset, table, "relayfleet", schema.Use{})
	require.NoError(t, err)
	return text
}

// withBlock puts a block behind a marker, in place of the one that is there.
func withBlock(t *testing.T, text, marker, block string) string {
	t.Helper()
	before, after, found := strings.Cut(text, marker)
	require.True(t, found, marker)
	if rest, ok := strings.CutPrefix(after, "\n```sql\n"); ok {
		_, after, _ = strings.Cut(rest, "\n```\n")
		after = "\n" + strings.TrimPrefix(after, "\n")
	}
	return before + marker + "\n" + block + "\n" + strings.TrimPrefix(strings.TrimPrefix(after, "\n"), "\n")
}
