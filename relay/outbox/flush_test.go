package outbox_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/pgbouncer"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

// Behind a pooler every statement runs with the settings of a relay's session,
// and others that get the same session do not.
func TestAFlushBehindAPoolerBringsItsSettings(t *testing.T) {
	d := database.New(t)
	pooler := pgbouncer.StartForTest(t, database.Server, pgbouncer.Options{Roles: []string{d.Role}, PoolSize: 1})
	d.WriteURI(t, pooler.URI(d.Name, d.Role))
	config := d.Config()
	config.Pooling = outbox.TransactionPooling
	db := database.Open(t, config)
	conn, err := db.Pool().Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	const question = "SELECT current_setting('statement_timeout'), current_setting('enable_seqscan'), current_setting('transaction_isolation')"
	var timeout, scans, isolation string
	flush := &pgx.Batch{}
	flush.Queue(question).QueryRow(func(row pgx.Row) error { return row.Scan(&timeout, &scans, &isolation) })
	require.NoError(t, db.Flush(t.Context(), conn, flush))
	require.Equal(t, []string{"5s", "off", "read committed"}, []string{timeout, scans, isolation})
	require.NoError(t, conn.QueryRow(t.Context(), question).Scan(&timeout, &scans, &isolation))
	require.Equal(t, []string{"0", "on"}, []string{timeout, scans})

	// A statement that fails leaves no transaction behind, in which the pooler's other clients would fail.
	broken := &pgx.Batch{}
	broken.Queue("SELECT 1 / 0")
	require.Error(t, db.Flush(t.Context(), conn, broken))
	require.NoError(t, db.Flush(t.Context(), conn, flush))
}
