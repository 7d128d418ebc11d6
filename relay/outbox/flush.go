package outbox

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Flush sends the statements of a batch together, as one transaction, and returns
// when its commit is known. Behind a pooler in transaction mode the settings that
// a session would have are set inside the transaction.
func (db *DB) Flush(ctx context.Context, conn *pgxpool.Conn, statements *pgx.Batch) error {
	if db.config.Pooling != TransactionPooling {
		// Without an explicit begin the batch is one implicit transaction.
		return conn.SendBatch(ctx, statements).Close()
	}
	whole := &pgx.Batch{}
	whole.Queue("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	whole.Queue(db.localSettings())
	whole.QueuedQueries = append(whole.QueuedQueries, statements.QueuedQueries...)
	whole.Queue("COMMIT")
	err := conn.SendBatch(ctx, whole).Close()
	if err != nil && conn.Conn().PgConn().TxStatus() != idle {
		// What failed has skipped the COMMIT too. Should this fail as well, the pool
		// ends the connection, which undoes the transaction.
		_, _ = conn.Exec(ctx, "ROLLBACK", pgx.QueryExecModeSimpleProtocol)
	}
	return err
}

// idle is the server's sign for a session without a transaction.
const idle = 'I'

// localSettings sets for one transaction what setSession sets for a session.
func (db *DB) localSettings() string {
	values := db.config.sessionSettings()
	delete(values, "default_transaction_isolation") // BEGIN has said it.
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		calls = append(calls, "pg_catalog.set_config('"+name+"', '"+values[name]+"', true)")
	}
	return "SELECT " + strings.Join(calls, ", ")
}
