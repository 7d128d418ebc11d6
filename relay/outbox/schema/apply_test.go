package schema_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

// owner is the doctor of a table as its owner sees it.
func owner(t *testing.T, d database.Database, use schema.Use) *schema.Doctor {
	t.Helper()
	file := filepath.Join(t.TempDir(), "uri")
	require.NoError(t, os.WriteFile(file, []byte(d.URI(database.Owner)), 0o600))
	return schema.New(database.Open(t, schema.AdminConfig(d.Config(), file)), d.Table, d.Mapping, use)
}

func apply(t *testing.T, doctor *schema.Doctor, dryRun bool, role string) (shown []string, report schema.Report) {
	t.Helper()
	report, err := doctor.Apply(t.Context(), schema.Changes{
		DryRun: dryRun, Role: role, Show: func(statement string) { shown = append(shown, statement) },
	})
	require.NoError(t, err)
	return shown, report
}

// From nothing to a table without a finding, in one go; the second go finds
// nothing to do.
func TestApplyMakesAllThatIsMissing(t *testing.T) {
	for _, preset := range presets {
		t.Run(preset, func(t *testing.T) {
			d := database.NewEmpty(t, outbox.Table{Schema: "Shop 1", Name: `out"box`})
			d.Mapping, _ = outbox.Preset(preset)
			use := schema.Use{Preset: preset, Retention: &rows.Retention{}}
			doctor := owner(t, d, use)
			shown, _ := apply(t, doctor, true, d.Role)
			require.NotEmpty(t, shown)
			requireProblem(t, doctor.Check(t.Context()), outbox.TableMissing)

			shown, report := apply(t, doctor, false, d.Role)
			require.Empty(t, report.Findings)
			require.Contains(t, strings.Join(shown, "\n"), "CREATE INDEX CONCURRENTLY")
			require.Empty(t, examine(t, schema.New(d.Open(t), d.Table, d.Mapping, use)).Findings)
			shown, _ = apply(t, doctor, false, "")
			require.Empty(t, shown)
		})
	}
}

// A table of before, with rows, gets what it lacks; what its rows say stays.
func TestApplyAddsWhatATableLacks(t *testing.T) {
	d := database.NewEmpty(t, outbox.Table{Schema: "public", Name: "outbox"})
	d.Mapping = outbox.Relayfleet()
	database.Exec(t, d.Owner, `CREATE TABLE outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event_id uuid NOT NULL DEFAULT gen_random_uuid(),
		key text, payload bytea, status text NOT NULL DEFAULT 'SENT')`)
	database.Exec(t, d.Owner, "INSERT INTO outbox SELECT FROM generate_series(1, 1000)")
	shown, report := apply(t, owner(t, d, schema.Use{}), false, d.Role)
	require.Empty(t, report.Findings, shown)
	require.Empty(t, examine(t, schema.New(d.Open(t), d.Table, d.Mapping, schema.Use{})).Findings)
	require.EqualValues(t, 1000, database.Query[int64](t, d.Owner, "SELECT count(*) FROM outbox WHERE status = 'SENT' AND attempts = 0"))
}

// Which rows are done is not for a tool to guess: with a status READY by default
// all of the past would be published.
func TestApplyDoesNotInventAStatus(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "ALTER TABLE outbox DROP COLUMN status")
	shown, report := apply(t, owner(t, d, schema.Use{}), false, "")
	require.Empty(t, shown)
	require.Equal(t, outbox.ColumnsMissing, report.Findings[0].Code)
	require.Contains(t, report.Findings[0].Advice, "for it to fill")
}

// What failed half-way is made anew: an index that is not valid, and a
// constraint that rows of then did not keep.
func TestApplyGoesOnWhereItFailed(t *testing.T) {
	d := database.New(t)
	doctor := owner(t, d, schema.Use{})
	database.Exec(t, d.Owner, "DROP INDEX outbox_queue; ALTER TABLE outbox DROP CONSTRAINT outbox_check")
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id, status, attempts) VALUES (gen_random_uuid(), 'INPROGRESS', 1)")
	_, err := doctor.Apply(t.Context(), schema.Changes{Show: func(string) {}})
	require.ErrorContains(t, err, "VALIDATE CONSTRAINT")

	// The index cannot be made while the key of one row cannot be computed.
	_, err = d.Owner.Exec(t.Context(), "CREATE INDEX CONCURRENTLY outbox_queue ON outbox ((status IS NOT NULL AND 1 / (attempts - 1) > 0))")
	require.Error(t, err)
	require.False(t, database.Query[bool](t, d.Owner, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'outbox_queue'::regclass"))

	database.Exec(t, d.Owner, "UPDATE outbox SET lease_until = now()")
	shown, report := apply(t, doctor, false, "")
	require.Empty(t, report.Findings)
	require.Contains(t, strings.Join(shown, "\n"), "DROP INDEX CONCURRENTLY")
}

// Writers go on while the index of a partitioned table is made.
func TestApplyToAPartitionedTable(t *testing.T) {
	for name, use := range map[string]schema.Use{
		"as it comes": {}, "by key": {Order: rows.Order{ByKey: true, Halt: true}}, "by priority": {Order: rows.Order{ByPriority: true, OldestPercent: 10}},
	} {
		t.Run(name, func(t *testing.T) { testApplyToPartitions(t, use) })
	}
}

func testApplyToPartitions(t *testing.T, use schema.Use) {
	d := database.NewEmpty(t, outbox.Table{Schema: "public", Name: "outbox"})
	ddl, err := schema.DDL("Relayfleet", d.Table)
	require.NoError(t, err)
	ddl, _, _ = strings.Cut(ddl, "ALTER TABLE")
	ddl = strings.Replace(ddl, "IDENTITY PRIMARY KEY", "IDENTITY", 1)
	ddl = strings.Replace(ddl, ");\n", ", PRIMARY KEY (id, created_at)) PARTITION BY RANGE (created_at);\n", 1)
	database.Exec(t, d.Owner, ddl)
	database.Exec(t, d.Owner, "CREATE TABLE outbox_old PARTITION OF outbox FOR VALUES FROM ('2020-01-01') TO ('2025-01-01')")
	database.Exec(t, d.Owner, "CREATE TABLE outbox_new PARTITION OF outbox FOR VALUES FROM ('2025-01-01') TO ('2100-01-01')")
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) SELECT gen_random_uuid() FROM generate_series(1, 100)")
	d.Mapping = outbox.Relayfleet()
	d.Mapping.PartitionKey = "created_at"
	shown, report := apply(t, owner(t, d, use), false, d.Role)
	require.Empty(t, report.Findings, shown)
	require.Contains(t, strings.Join(shown, "\n"), "ATTACH PARTITION")
	require.Empty(t, examine(t, schema.New(d.Open(t), d.Table, d.Mapping, use)).Findings)
}

// A finding that is Blocking goes before all others, and a table that cannot
// serve still says what else is wrong with it.
func TestATableThatCannotServeSaysMore(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "ALTER TABLE outbox DROP COLUMN attempts, RESET (autovacuum_vacuum_scale_factor)")
	report := examine(t, doctor(d, d.Open(t)))
	require.Equal(t, outbox.ColumnsMissing, report.Findings[0].Code)
	require.Equal(t, []string{schema.AutovacuumSlow}, schema.Codes(report.Findings, schema.Warning))
}

func TestADatabaseThatIsGone(t *testing.T) {
	d := database.New(t)
	db := d.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := doctor(d, db).Examine(ctx)
	require.Equal(t, outbox.Unreachable, outbox.Classify(err).Code)
}

// A poller of before, which knows no leases, goes on until it is stopped.
func TestApplyBesideAPollerOfBefore(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "ALTER TABLE outbox DROP CONSTRAINT outbox_check; DROP INDEX outbox_failed; INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	doctor := owner(t, d, schema.Use{})
	_, err := doctor.Apply(t.Context(), schema.Changes{WithoutConstraints: true, Show: func(string) {}})
	require.NoError(t, err)
	database.Exec(t, d.Owner, "UPDATE outbox SET status = 'INPROGRESS'")
	report := examine(t, doctor)
	require.Equal(t, []string{schema.LeaseUnchecked, schema.RowsWithoutLease}, schema.Codes(report.Findings, schema.Warning))
	database.Exec(t, d.Owner, find(report, schema.RowsWithoutLease).Statements[0])
	_, report = apply(t, doctor, false, "")
	require.Empty(t, report.Findings)
}
