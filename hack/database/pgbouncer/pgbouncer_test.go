package pgbouncer_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/pgbouncer"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
)

func TestTransactionModeSharesASession(t *testing.T) {
	server := postgres.StartForTest(t, postgres.Options{NotDurable: true})
	pooler := pgbouncer.StartForTest(t, server, pgbouncer.Options{Roles: []string{"postgres"}, PoolSize: 1})
	ask := func() (pid int) {
		config, err := pgx.ParseConfig(pooler.URI("postgres", "postgres") + "?sslmode=verify-full&sslrootcert=" + server.CAFile())
		require.NoError(t, err)
		config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		conn, err := pgx.ConnectConfig(t.Context(), config)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close(t.Context()) })
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
		return pid
	}
	first := ask()
	require.Equal(t, first, ask(), "two connections, one session")
}
