package schema

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

func (e *examination) lookAtServer(ctx context.Context) (err error) {
	if e.server, err = one[Server](ctx, e, question("server")); err != nil {
		return err
	}
	if e.server.ReadOnly {
		e.find(Finding{
			Code: outbox.ReadOnly, Severity: Blocking,
			Message: "the server takes no writes: it is a standby, or the role or the database is set so",
			Advice:  "let the connection URI lead to the primary, or end default_transaction_read_only",
		})
	}
	if e.server.SynchronousCommit == "off" {
		e.find(Finding{
			Code: AsynchronousCommit, Severity: Warning,
			Message:    "synchronous_commit is off: a crash of the server forgets the outcomes of its last moments, and those events are published again. Claims are durable all the same",
			Advice:     "set it on for the relay's role",
			Statements: []string{"ALTER ROLE " + quoted(e.server.Role) + " SET synchronous_commit = on;"},
		})
	}
	return nil
}

// lookForPooler finds out whether Session is true: a pooler that drops what was
// asked for at the start of a session, or gives each transaction any session, is
// noticed at claims only by what goes wrong.
func (e *examination) lookForPooler(ctx context.Context) error {
	if e.use.Pooling == outbox.TransactionPooling {
		return nil
	}
	why := ""
	if asked := e.db.StatementTimeout(); !sameDuration(e.server.StatementTimeout, asked) || e.server.Isolation != "read committed" {
		why = fmt.Sprintf("the session does not have the settings that it was begun with (statement_timeout is %s, not %s)",
			e.server.StatementTimeout, asked)
	}
	if why == "" {
		shared, err := e.sessionsAreShared(ctx)
		if err != nil {
			return err
		}
		if shared {
			why = "a connection does not keep its session from one transaction to the next"
		}
	}
	if why != "" {
		e.find(Finding{
			Code: outbox.PoolingMismatch, Severity: Blocking,
			Message: why + ": there is a pooler in transaction mode in between",
			Advice:  "set database.pooling to Transaction, or let the connection URI lead past the pooler",
		})
	}
	return nil
}

// sameDuration: PostgreSQL prints a setting in the largest unit that has no rest.
func sameDuration(shown string, asked time.Duration) bool {
	for unit, length := range map[string]time.Duration{
		"ms": time.Millisecond, "s": time.Second, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	} {
		if asked%length == 0 && shown == fmt.Sprintf("%d%s", asked/length, unit) {
			return true
		}
	}
	return shown == "0" && asked == 0
}

// sessionsAreShared marks the session of one connection, and lets another work in
// between. Behind a pooler that has one session for both, the other one sees the
// mark; if it has more, holding the first makes it give out a second.
func (e *examination) sessionsAreShared(ctx context.Context) (bool, error) {
	other, err := e.db.Pool().Acquire(ctx)
	if tooMany(err) {
		return false, nil // Nobody shares what there is only one of.
	}
	if err != nil {
		return false, err
	}
	defer other.Release()
	mark := rand.Text()
	const rounds = 3
	for range rounds {
		shared, err := e.shareOnce(ctx, other, mark)
		if shared || err != nil {
			return shared, err
		}
	}
	_, err = markSession(ctx, e.conn, "")
	return false, err
}

func (e *examination) shareOnce(ctx context.Context, other *pgxpool.Conn, mark string) (shared bool, err error) {
	mine, err := markSession(ctx, e.conn, mark)
	if err != nil {
		return false, err
	}
	held, err := other.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return false, err
	}
	defer func() { _ = held.Rollback(ctx) }() // It has changed nothing.
	seen, theirs, err := look(ctx, held)
	if err != nil || theirs == mine || seen == mark {
		return err == nil, err
	}
	seen, now, err := look(ctx, e.conn)
	return err == nil && (now != mine || seen != mark), err
}

// tooMany: the server gives the role, or anybody, no further connection.
func tooMany(err error) bool {
	var server *pgconn.PgError
	const tooManyConnections = "53300"
	return errors.As(err, &server) && server.Code == tooManyConnections
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// marked is a setting that no one reads but this package.
const marked = "relayfleet.session"

// markSession marks the session behind a connection and returns its process.
func markSession(ctx context.Context, q querier, mark string) (pid int, err error) {
	err = q.QueryRow(ctx, "SELECT pg_catalog.pg_backend_pid(), pg_catalog.set_config('"+marked+"', $1, false)",
		pgx.QueryExecModeSimpleProtocol, mark).Scan(&pid, nil)
	return pid, err
}

func look(ctx context.Context, q querier) (mark string, pid int, err error) {
	err = q.QueryRow(ctx, "SELECT COALESCE(pg_catalog.current_setting('"+marked+"', true), ''), pg_catalog.pg_backend_pid()",
		pgx.QueryExecModeSimpleProtocol).Scan(&mark, &pid)
	return mark, pid, err
}
