package rows_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/pgbouncer"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// pooled is a table whose stores reach it through PgBouncer in transaction mode.
// Fewer sessions than connections: every statement may land in any of them.
type pooled struct {
	table
	config outbox.Config
}

func openPooled(t *testing.T, preset string, name outbox.Table) pooled {
	t.Helper()
	p := pooled{table: open(t, preset, name)}
	pooler := pgbouncer.StartForTest(t, database.Server, pgbouncer.Options{Roles: []string{p.Role}, PoolSize: 3})
	p.WriteURI(t, pooler.URI(p.Name, p.Role))
	p.config = p.Config()
	p.config.Pooling = outbox.TransactionPooling
	return p
}

func (p pooled) Store(t *testing.T) outboxtest.Store {
	t.Helper()
	store, err := rows.New(database.Open(t, p.config), rows.Config{Table: p.Table, Mapping: p.Mapping, Lease: outboxtest.Lease})
	require.NoError(t, err)
	return store
}

func TestStoreBehindPgBouncerInTransactionMode(t *testing.T) {
	// One with every column, and one whose second fence is not a token.
	for _, preset := range []string{"Relayfleet", "Lab"} {
		name := presets[preset]
		t.Run(preset, func(t *testing.T) {
			outboxtest.Exercise(t, func(t *testing.T) outboxtest.Table {
				return openPooled(t, preset, outbox.Table{Schema: "public", Name: name})
			})
		})
	}
}
