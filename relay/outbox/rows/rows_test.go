package rows_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

func TestMain(m *testing.M) { database.Main(m) }

// presets are the tables that the suite goes over.
var presets = map[string]string{
	"Relayfleet": "outbox", "Lab": "outbox_lab", "StatusCodes": "notification_outbox", "Token": "delivery_outbox", "Debezium": "outboxevent",
}

func TestStore(t *testing.T) {
	for preset, name := range presets {
		t.Run(preset, func(t *testing.T) {
			outboxtest.Exercise(t, func(t *testing.T) outboxtest.Table {
				return open(t, preset, outbox.Table{Schema: "public", Name: name})
			})
		})
	}
}

// The name of a table can be anything that PostgreSQL allows.
func TestStoreOfATableWithAnOddName(t *testing.T) {
	table := open(t, "Relayfleet", oddTable)
	ids := table.Insert(t, 1)
	batch, err := table.Store(t).Claim(t.Context(), event.Ask{Rows: 10})
	require.NoError(t, err)
	require.Equal(t, ids[0], batch.Events[0].ID)
}

// table is a table of a mapping for the suite. Its stores have the grants of a
// relay's role; the suite acts as the owner.
type table struct{ database.Database }

// open makes a table without the CHECK constraints: with them a row that is not
// INPROGRESS has no lease, and the guard's lease would refuse what its status
// has to refuse.
func open(t *testing.T, preset string, name outbox.Table) table {
	t.Helper()
	d := table{database.NewPreset(t, preset, name)}
	d.dropChecks(t)
	return d
}

func (d table) dropChecks(t *testing.T) {
	t.Helper()
	checks, err := pgx.CollectRows(d.query(t,
		"SELECT conname FROM pg_constraint WHERE conrelid = $1::text::regclass AND contype = 'c'", d.Table.SQL()), pgx.RowTo[string])
	require.NoError(t, err)
	for _, check := range checks {
		database.Exec(t, d.Owner, "ALTER TABLE "+d.Table.SQL()+" DROP CONSTRAINT "+quote(check))
	}
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func (d table) Abilities() outboxtest.Abilities {
	m := d.Mapping
	return outboxtest.Abilities{Abilities: m.Abilities(), Generation: m.Generation != "", Reasons: m.LastError != ""}
}

func (d table) Store(t *testing.T) outboxtest.Store {
	t.Helper()
	return newStore(t, d.Database)
}

func (d table) Insert(t *testing.T, n int) []string {
	t.Helper()
	m := d.Mapping
	values := map[string]string{
		m.EventID:       identities[shape(t, d.Database)[m.EventID].Type],
		m.Payload:       payloads[shape(t, d.Database)[m.Payload].Type],
		m.NextAttemptAt: "clock_timestamp() - interval '1 second' + n * interval '1 ms'",
	}
	if m.Key != "" {
		values[m.Key] = "gen_random_uuid()::text"
	}
	if m.CreatedAt != "" {
		values[m.CreatedAt] = "clock_timestamp() - interval '2 seconds'"
	}
	ids, err := pgx.CollectRows(d.query(t, "WITH inserted AS ("+d.insertion(values)+" RETURNING "+
		quote(m.EventID)+"::text AS event, "+quote(m.NextAttemptAt)+" AS due) SELECT event FROM inserted ORDER BY due", n), pgx.RowTo[string])
	require.NoError(t, err)
	return ids
}

// insertion inserts as many rows as $1 says; values are expressions by column, in
// which n counts them.
func (d table) insertion(values map[string]string) string {
	if d.Mapping.TopicTemplate != "" {
		values["aggregatetype"], values["type"] = "'order'", "'Placed'"
	}
	var columns, expressions []string
	for column, expression := range values {
		columns, expressions = append(columns, quote(column)), append(expressions, expression)
	}
	return "INSERT INTO " + d.Table.SQL() + " (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(expressions, ", ") +
		" FROM generate_series(1, $1::int) AS n"
}

// identities are expressions by the column's type.
var identities = map[string]string{
	"uuid": "gen_random_uuid()", "text": "gen_random_uuid()", "bigint": "(random() * 1e15)::bigint",
}

// payloads are expressions by the column's type.
var payloads = map[string]string{
	"bytea": "convert_to('event ' || n, 'UTF8')", "text": "'event ' || n", "character varying": "'event ' || n",
	"json": "json_build_object('event', n)", "jsonb": "jsonb_build_object('event', n)",
}

func (d table) Look(t *testing.T, id string) outboxtest.Row {
	t.Helper()
	m := d.Mapping
	or := func(column, missing string) string {
		if column == "" {
			return missing
		}
		return quote(column)
	}
	claimed := fmt.Sprintf("%s::text = '%s'", quote(m.Status), m.InProgress)
	if m.InProgress == "" {
		claimed = fmt.Sprintf("%s::text = '%s' AND %s IS NOT NULL", quote(m.Status), m.Ready, quote(m.ClaimToken))
	}
	looked, err := pgx.CollectRows(d.query(t, d.on(fmt.Sprintf(`SELECT
			CASE WHEN %[1]s THEN 'INPROGRESS' WHEN %[2]s::text = '%[3]s' THEN 'READY' WHEN %[2]s::text = '%[4]s' THEN 'SENT'
			     WHEN %[2]s::text = '%[5]s' THEN 'FAILED' ELSE 'other' END,
			%[6]s::bigint, %[7]s::int,
			CASE WHEN %[1]s THEN %[8]s ELSE %[9]s END - clock_timestamp(),
			coalesce(%[10]s, ''), o::text
		FROM %%s AS o WHERE %[11]s::text = $1`,
		claimed, quote(m.Status), m.Ready, m.Sent, strings.ReplaceAll(m.Failed, "'", "''"), or(m.Generation, "0"), quote(m.Counter()), quote(m.LeaseUntil),
		quote(m.NextAttemptAt), or(m.LastError, "''"), quote(m.EventID))), id), pgx.RowToStructByPos[outboxtest.Row])
	require.NoError(t, err)
	if len(looked) == 0 {
		return outboxtest.Row{}
	}
	return looked[0]
}

// disturbances change one column each, but for the lease, which must also leave
// the claim's order intact.
func (d table) disturbances() map[outboxtest.Disturbance]string {
	m := d.Mapping
	all := map[outboxtest.Disturbance]string{
		outboxtest.LeaseEnded:  quote(m.LeaseUntil) + " = clock_timestamp()",
		outboxtest.AlreadySent: quote(m.Status) + " = '" + m.Sent + "'",
	}
	if m.InProgress != "" {
		all[outboxtest.AlreadyReady] = quote(m.Status) + " = '" + m.Ready + "'"
	}
	if m.Generation != "" {
		all[outboxtest.AnotherGeneration] = quote(m.Generation) + " = " + quote(m.Generation) + " + 1"
	}
	if m.ClaimToken != "" {
		all[outboxtest.AnotherToken] = quote(m.ClaimToken) + " = gen_random_uuid()"
	}
	if m.Status == "send_status" {
		all[outboxtest.Consumed] = quote(m.Status) + " = 5"
	}
	return all
}

func (d table) Disturbances() []outboxtest.Disturbance {
	return append(slices.Sorted(maps.Keys(d.disturbances())), outboxtest.Removed)
}

func (d table) Disturb(t *testing.T, id string, disturbance outboxtest.Disturbance) {
	t.Helper()
	where := " WHERE " + quote(d.Mapping.EventID) + "::text = $1"
	if disturbance == outboxtest.Removed {
		database.Exec(t, d.Owner, d.on("DELETE FROM %s"+where), id)
		return
	}
	set, ok := d.disturbances()[disturbance]
	require.True(t, ok, disturbance)
	database.Exec(t, d.Owner, d.on("UPDATE %s SET "+set+where), id)
}

func (d table) Lock(t *testing.T, id string) (unlock func()) {
	t.Helper()
	holder := d.Connect(t, database.Owner)
	tx, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), d.on("SELECT FROM %s WHERE "+quote(d.Mapping.EventID)+"::text = $1 FOR UPDATE"), id)
	require.NoError(t, err)
	return func() { require.NoError(t, tx.Rollback(context.Background())) }
}

// on puts the table's name into a statement.
func (d table) on(statement string) string { return fmt.Sprintf(statement, d.Table.SQL()) }

func (d table) query(t *testing.T, sql string, args ...any) pgx.Rows {
	t.Helper()
	found, err := d.Owner.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	return found
}
