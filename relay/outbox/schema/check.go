// Package schema looks after the table: what it must have, what it lacks, and
// how to make it. It creates nothing unless Apply is called.
//
// What can be decided by trying is tried, without touching a row: a CHECK or the
// predicate of an index is evaluated over made-up rows, and the plans of the
// relay's own statements are explained. So nothing depends on how PostgreSQL
// prints an expression.
package schema

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// patience bounds a whole examination.
const patience = 30 * time.Second

// Doctor examines one table. It remembers the table's counters from one
// examination to the next: some things are seen only in what has changed.
type Doctor struct {
	db      *outbox.DB
	table   outbox.Table
	mapping outbox.Mapping
	use     Use

	mu struct {
		sync.Mutex
		last *counters
	}
}

// Use says what is asked of the table beside claims.
type Use struct {
	// Order is how claims are ordered.
	Order rows.Order
	// Retention deletes published rows; nil: nobody does.
	Retention *rows.Retention
	// Pooling is how the database is reached; unset: outbox.SessionPooling.
	Pooling outbox.Pooling
	// Preset names the mapping if it is a preset's own, so that a table that is not
	// there can be created; else empty.
	Preset string
}

// New makes the doctor of a table. It connects to nothing.
func New(db *outbox.DB, table outbox.Table, m outbox.Mapping, use Use) *Doctor {
	return &Doctor{db: db, table: table, mapping: m, use: use}
}

// Server says how the relay's statements run.
type Server struct {
	Role              string `json:"role"`
	Version           string `json:"version"`
	ReadOnly          bool   `json:"readOnly"`
	SynchronousCommit string `json:"synchronousCommit"`
	Isolation         string `json:"isolation"`
	StatementTimeout  string `json:"statementTimeout"`
}

// Report is what an examination finds, what blocks first.
type Report struct {
	Server   Server    `json:"server"`
	Findings []Finding `json:"findings"`
}

// Check looks whether the table can serve, and returns an *outbox.Problem when
// it cannot, or when the database cannot be asked. It looks only at what blocks.
func (d *Doctor) Check(ctx context.Context) error {
	report, err := d.examine(ctx, (*examination).blocking)
	if err == nil {
		err = Blocks(report.Findings)
	}
	if err != nil {
		return fmt.Errorf("check the table: %w", err)
	}
	return nil
}

// Examine looks at everything. It reads a bounded number of rows and writes
// none; the error says that the database could not be asked.
func (d *Doctor) Examine(ctx context.Context) (Report, error) {
	report, err := d.examine(ctx, func(e *examination, ctx context.Context) error {
		if err := e.blocking(ctx); err != nil {
			return err
		}
		return e.warnings(ctx)
	})
	if err != nil {
		return report, fmt.Errorf("examine the table: %w", err)
	}
	return report, nil
}

// Watch examines twice, the given time apart, and returns what the second look
// finds; without a time it looks once.
func (d *Doctor) Watch(ctx context.Context, apart time.Duration) (Report, error) {
	report, err := d.Examine(ctx)
	if err != nil || apart <= 0 {
		return report, err
	}
	select {
	case <-ctx.Done():
		return report, fmt.Errorf("examine the table: %w", ctx.Err())
	case <-time.After(apart):
		return d.Examine(ctx)
	}
}

func (d *Doctor) examine(ctx context.Context, look func(*examination, context.Context) error) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := d.db.Pool().Acquire(ctx)
	if err != nil {
		return Report{}, d.db.Failed(err)
	}
	defer conn.Release()
	e := &examination{Doctor: d, conn: conn}
	if err := look(e, ctx); err != nil {
		return Report{}, d.db.Failed(err)
	}
	return Report{Server: e.server, Findings: e.findings}, nil
}

// examination is one look, on one connection.
type examination struct {
	*Doctor
	conn     *pgxpool.Conn
	server   Server
	shape    outbox.Shape
	relation relation
	leaves   []leaf
	columns  []column
	checks   []check
	indexes  []index
	// sound are the statuses that the column's type can hold.
	sound []string
	// queueEmpty: nothing waits and nothing is claimed, as far as was looked.
	queueEmpty bool
	findings   []Finding
}

func (e *examination) find(f Finding) { e.findings = append(e.findings, f) }

func (e *examination) blocked() bool { return Blocks(e.findings) != nil }

// blocking runs the checks that can block, until one does: the later ones build
// on what the earlier ones have seen.
func (e *examination) blocking(ctx context.Context) error {
	for _, look := range []func(context.Context) error{
		e.lookAtServer, e.lookForPooler, e.lookAtTable, e.lookAtColumns, e.lookAtKey, e.lookAtStatuses,
	} {
		if err := look(ctx); err != nil || e.blocked() {
			return err
		}
	}
	return nil
}

// warnings runs the other checks; some of them can say something even of a
// table that cannot serve.
func (e *examination) warnings(ctx context.Context) error {
	looks := []func(context.Context) error{e.lookAround, e.lookAtVacuum, e.lookAtHolders}
	if !e.blocked() {
		looks = append([]func(context.Context) error{
			e.lookAtConstraints, e.lookAtIndexes, e.lookAtPlans, e.lookForStranded,
		}, looks...)
	}
	for _, look := range looks {
		if err := look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ask reads, in one transaction that can write nothing: what it evaluates may call
// functions of others. Names mean the catalogue's own, whatever the role's search
// path is.
func ask[T any](ctx context.Context, e *examination, sql string, args ...any) ([]T, error) {
	return askBy(ctx, e, pgx.RowToStructByPos[T], sql, args...)
}

// askNames is ask for a single column of text.
func askNames(ctx context.Context, e *examination, sql string, args ...any) ([]string, error) {
	return askBy(ctx, e, pgx.RowTo[string], sql, args...)
}

func askBy[T any](ctx context.Context, e *examination, scan pgx.RowToFunc[T], sql string, args ...any) (found []T, err error) {
	flush := &pgx.Batch{}
	flush.Queue("SELECT pg_catalog.set_config('search_path', 'pg_catalog', true), pg_catalog.set_config('transaction_read_only', 'on', true)")
	flush.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, scan)
		return err
	})
	return found, e.db.Flush(ctx, e.conn, flush)
}

// one is ask for exactly one row.
func one[T any](ctx context.Context, e *examination, sql string, args ...any) (T, error) {
	found, err := ask[T](ctx, e, sql, args...)
	if err == nil && len(found) != 1 {
		err = errors.New("the table has just been dropped or made anew")
	}
	if err != nil {
		var none T
		return none, err
	}
	return found[0], nil
}
