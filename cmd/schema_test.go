package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

// run runs the command line and returns what it prints.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := newRoot()
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&out)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestSchemaPrintNeedsNoDatabase(t *testing.T) {
	for _, preset := range outbox.Presets() {
		text, err := run(t, "schema", "print", "--preset", preset, "--table", "shop.events", "--role", "relay 1")
		require.NoError(t, err)
		require.Contains(t, text, `CREATE TABLE "shop"."events"`)
		require.Contains(t, text, `CREATE INDEX "events_queue"`)
		require.Contains(t, text, `TO "relay 1";`)
	}
	text, err := run(t, "schema", "print", "--preset", "Relayfleet", "--ordering-key", "--priority", "--retention")
	require.NoError(t, err)
	for _, index := range []string{"queue", "suspects", "failed", "ordered", "halted", "priority", "retention"} {
		require.Equal(t, 1, strings.Count(text, `CREATE INDEX "outbox_`+index+`"`), index)
	}
	require.Contains(t, text, "GRANT DELETE")
	_, err = run(t, "schema", "print", "--preset", "Other")
	require.ErrorContains(t, err, `there is no preset "Other"`)
	_, err = run(t, "schema", "print", "--preset", "Lab", "--table", ".events")
	require.ErrorContains(t, err, "is not schema.name")
}

func TestSchemaFromAnEmptyDatabaseToOneThatServes(t *testing.T) {
	server := postgres.StartForTest(t, postgres.Options{NotDurable: true})
	for _, role := range []string{"shop", "relay"} {
		require.NoError(t, server.CreateRole(t.Context(), role))
	}
	require.NoError(t, server.CreateDatabase(t.Context(), "shop", "shop"))
	dir := t.TempDir()
	uri := func(role string) string {
		path := filepath.Join(dir, role)
		text, _, _ := strings.Cut(server.URL("shop", role), "?")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	config := filepath.Join(dir, "settings.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
version: 1
table: {schema: public, name: outbox}
topic: orders
database: {uriFile: %s, tls: {caFile: %s}}
kafka: {bootstrapServers: ["127.0.0.1:1"]}
retention: {policy: Delete}
`, uri("relay"), server.CAFile()), 0o600))

	text, err := run(t, "schema", "check", "--config", config)
	require.ErrorContains(t, err, `the table cannot serve: there is no table "public"."outbox"`)
	require.Contains(t, text, "blocking TableMissing")
	require.Contains(t, text, "CREATE TABLE")

	text, err = run(t, "schema", "apply", "--config", config, "--uri-file", uri("shop"), "--dry-run", "--role", "relay")
	require.NoError(t, err)
	require.Contains(t, text, "CREATE TABLE")
	_, err = run(t, "schema", "check", "--config", config)
	require.Error(t, err, "a dry run changes nothing")

	text, err = run(t, "schema", "apply", "--config", config, "--uri-file", uri("shop"), "--role", "relay")
	require.NoError(t, err)
	require.Contains(t, text, `CREATE INDEX CONCURRENTLY "outbox_retention"`)
	require.Contains(t, text, "GRANT DELETE")

	text, err = run(t, "schema", "check", "--config", config, "--watch", "10ms")
	require.NoError(t, err)
	require.Contains(t, text, "role relay, synchronous_commit on, isolation read committed")
	require.Contains(t, text, "nothing is wrong")

	conn, err := server.Connect(t.Context(), "shop")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "DROP INDEX outbox_queue")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	text, err = run(t, "schema", "check", "--config", config, "-o", "json")
	require.NoError(t, err, "a warning is no failure")
	var report schema.Report
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	require.Equal(t, schema.IndexMissing, report.Findings[0].Code)
	require.Contains(t, report.Findings[0].Statements[0], "CREATE INDEX CONCURRENTLY")

	_, err = run(t, "schema", "check", "--config", config, "-o", "yaml")
	require.ErrorContains(t, err, "neither text nor json")
}
