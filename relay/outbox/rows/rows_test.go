package rows_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

func TestMain(m *testing.M) { database.Main(m) }

func TestStore(t *testing.T) {
	outboxtest.Exercise(t, func(t *testing.T) outboxtest.Table {
		return open(t, outbox.Table{Schema: "public", Name: "outbox"})
	})
}

// The name of a table can be anything that PostgreSQL allows.
func TestStoreOfATableWithAnOddName(t *testing.T) {
	table := open(t, outbox.Table{Schema: `Shop "1"`, Name: `out; DROP TABLE "box"`})
	ids := table.Insert(t, 1)
	batch, err := table.Store(t).Claim(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, ids[0], batch.Events[0].ID)
}

// relayfleetTable is a Relayfleet table for the suite. Its stores have the
// grants of a relay's role; the suite acts as the owner.
type relayfleetTable struct{ database.Database }

// open makes a table without the CHECK constraints: with them a row that is not
// INPROGRESS has no lease, and the guard's lease would refuse what its status
// has to refuse.
func open(t *testing.T, table outbox.Table) relayfleetTable {
	t.Helper()
	d := relayfleetTable{database.NewNamed(t, table)}
	checks, err := pgx.CollectRows(d.query(t,
		"SELECT conname FROM pg_constraint WHERE conrelid = $1::text::regclass AND contype = 'c'", table.SQL()), pgx.RowTo[string])
	require.NoError(t, err)
	require.NotEmpty(t, checks)
	for _, check := range checks {
		database.Exec(t, d.Owner, "ALTER TABLE "+table.SQL()+" DROP CONSTRAINT "+pgx.Identifier{check}.Sanitize())
	}
	return d
}

func (d relayfleetTable) Store(t *testing.T) outboxtest.Store {
	t.Helper()
	return rows.New(d.Open(t), d.Table, outboxtest.Lease)
}

func (d relayfleetTable) Insert(t *testing.T, n int) []string {
	t.Helper()
	ids, err := pgx.CollectRows(d.query(t, `WITH inserted AS (
			INSERT INTO `+d.Table.SQL()+` (event_id, key, payload, next_attempt_at, created_at)
			SELECT gen_random_uuid(), 'key ' || n, convert_to('event ' || n, 'UTF8'),
			       clock_timestamp() - interval '1 second' + n * interval '1 ms', clock_timestamp() - interval '2 seconds'
			FROM generate_series(1, $1::int) AS n
			RETURNING id, event_id)
		SELECT event_id::text FROM inserted ORDER BY id`, n), pgx.RowTo[string])
	require.NoError(t, err)
	return ids
}

func (d relayfleetTable) Look(t *testing.T, id string) outboxtest.Row {
	t.Helper()
	looked, err := pgx.CollectRows(d.query(t, `SELECT status, generation, attempts,
			CASE WHEN status = 'INPROGRESS' THEN lease_until ELSE next_attempt_at END - clock_timestamp(),
			coalesce(last_error, ''), o::text
		FROM `+d.Table.SQL()+` AS o WHERE event_id = $1`, id), pgx.RowToStructByPos[outboxtest.Row])
	require.NoError(t, err)
	if len(looked) == 0 {
		return outboxtest.Row{}
	}
	return looked[0]
}

// disturbances change one column each, but for the lease, which must also leave
// the claim's order intact.
var disturbances = map[outboxtest.Disturbance]string{
	outboxtest.LeaseEnded:        "UPDATE %s SET lease_until = clock_timestamp() WHERE event_id = $1",
	outboxtest.AnotherGeneration: "UPDATE %s SET generation = generation + 1 WHERE event_id = $1",
	outboxtest.AnotherToken:      "UPDATE %s SET claim_token = gen_random_uuid() WHERE event_id = $1",
	outboxtest.AlreadySent:       "UPDATE %s SET status = 'SENT' WHERE event_id = $1",
	outboxtest.AlreadyReady:      "UPDATE %s SET status = 'READY' WHERE event_id = $1",
	outboxtest.Removed:           "DELETE FROM %s WHERE event_id = $1",
}

func (d relayfleetTable) Disturb(t *testing.T, id string, disturbance outboxtest.Disturbance) {
	t.Helper()
	statement, ok := disturbances[disturbance]
	require.True(t, ok, disturbance)
	database.Exec(t, d.Owner, d.on(statement), id)
}

func (d relayfleetTable) Lock(t *testing.T, id string) (unlock func()) {
	t.Helper()
	holder := d.Connect(t, database.Owner)
	tx, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), d.on("SELECT FROM %s WHERE event_id = $1 FOR UPDATE"), id)
	require.NoError(t, err)
	return func() { require.NoError(t, tx.Rollback(context.Background())) }
}

// on puts the table's name into a statement.
func (d relayfleetTable) on(statement string) string { return fmt.Sprintf(statement, d.Table.SQL()) }

func (d relayfleetTable) query(t *testing.T, sql string, args ...any) pgx.Rows {
	t.Helper()
	found, err := d.Owner.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	return found
}
