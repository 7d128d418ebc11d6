package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
)

// Config says which table a Store keeps claims in, and how.
type Config struct {
	Table   outbox.Table
	Mapping outbox.Mapping
	// Lease is how long a claim holds.
	Lease time.Duration
	// Order says which rows a claim takes first.
	Order Order
	// Retention says which rows Purge deletes; nil: none.
	Retention *Retention
}

// Store keeps claims in the rows of one table. It may be used by several
// goroutines, but a batch by one at a time.
type Store struct {
	db     *outbox.DB
	config Config

	mu struct {
		sync.Mutex
		// statements are made when the types of the columns are known; nil until
		// then, and again after an error that may mean that they have changed.
		statements *statements
		watermark  watermark
		outages    outages
		lost       []lostClaim
		rowsFit    int // how many rows the byte budget let through last time; 0: it did not matter
	}
}

// New makes the store of a table. It connects to nothing. The error is about the
// mapping.
func New(db *outbox.DB, config Config) (*Store, error) {
	if err := config.Mapping.Validate(); err != nil {
		return nil, fmt.Errorf("mapping of the table: %w", err)
	}
	if err := config.Order.validate(config.Mapping); err != nil {
		return nil, err
	}
	if config.Retention != nil {
		if err := config.Retention.validate(config.Mapping); err != nil {
			return nil, err
		}
	}
	return &Store{db: db, config: config}, nil
}

// Abilities are what the table can record.
func (s *Store) Abilities() event.Abilities { return s.config.Mapping.Abilities() }

// answerMargin is how much longer than the server's own limit the relay waits
// for an answer: whoever gives up first decides whether the outcome is known.
const answerMargin = 5 * time.Second

// patience bounds a statement, so that a server that says nothing does not hold
// the relay for ever.
func (s *Store) patience() time.Duration { return s.db.StatementTimeout() + answerMargin }

// connectionPatience bounds getting a connection, which may mean connecting to
// several addresses, twice.
const connectionPatience = 30 * time.Second

func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectionPatience)
	defer cancel()
	return s.db.Pool().Acquire(ctx)
}

// prepared returns the statements, which need the types of the columns.
func (s *Store) prepared(ctx context.Context, conn *pgxpool.Conn) (*statements, error) {
	s.mu.Lock()
	known := s.mu.statements
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	shape, err := outbox.ReadShape(ctx, conn, s.config.Table)
	if err != nil {
		return nil, err
	}
	if problem := s.config.Mapping.Find(shape); problem != nil {
		return nil, problem
	}
	if problem := s.config.Order.Problem(s.config.Mapping, shape); problem != nil {
		return nil, problem
	}
	made := newStatements(s.config.Table, s.config.Mapping, shape, s.config.Order)
	if s.config.Retention != nil {
		made.setRetention(*s.config.Retention, s.config.Mapping)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.statements = made
	return made, nil
}

// failed says what was being done, once, for every exported method.
func (s *Store) failed(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	problem := s.db.Failed(err)
	code := outbox.Classify(problem).Code
	s.mu.Lock()
	defer s.mu.Unlock()
	// A caller's time that is up says nothing of the database: a row may be what took it.
	if (isOutage(code) || doing == claiming && isLockedOut(err)) && ctx.Err() == nil {
		s.mu.outages.met = true
	}
	if slices.Contains([]string{outbox.TableMissing, outbox.ColumnsMissing, outbox.ColumnsMistyped}, code) {
		s.mu.statements = nil
	}
	return fmt.Errorf("%s: %w", doing, problem)
}

// maxTries bounds how often a statement that lost against another is repeated.
const maxTries = 5

// exec runs a guarded statement and returns how many rows it has changed. Only
// others' bulk changes can make it lose: it is repeated at once.
func (s *Store) exec(ctx context.Context, do func(*statements) (statement, []any)) (changed int, err error) {
	err = repeated(func() error {
		return s.with(ctx, func(ctx context.Context, conn *pgxpool.Conn, all *statements) error {
			do, args := do(all)
			tag, err := s.run(ctx, conn, do, args...)
			changed = int(tag.RowsAffected())
			return err
		})
	})
	return changed, err
}

// with gives do a connection and the statements, for a bounded time.
func (s *Store) with(ctx context.Context, do func(context.Context, *pgxpool.Conn, *statements) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	all, err := s.prepared(ctx, conn)
	if err != nil {
		return err
	}
	return do(ctx, conn, all)
}

// run runs one statement in a transaction of its own.
func (s *Store) run(ctx context.Context, conn *pgxpool.Conn, do statement, args ...any) (tag pgconn.CommandTag, err error) {
	flush := &pgx.Batch{}
	flush.Queue(do.sql, do.args(args...)...).Exec(func(t pgconn.CommandTag) error {
		tag = t
		return nil
	})
	return tag, s.db.Flush(ctx, conn, flush)
}

// query runs one statement in a transaction of its own and collects its rows.
func query[T any](ctx context.Context, s *Store, conn *pgxpool.Conn, scan pgx.RowToFunc[T], do statement, args ...any) (found []T, err error) {
	flush := &pgx.Batch{}
	flush.Queue(do.sql, do.args(args...)...).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, scan)
		return err
	})
	return found, s.db.Flush(ctx, conn, flush)
}

func repeated(do func() error) error {
	var err error
	for range maxTries {
		if err = do(); !lostAgainstAnother(err) {
			return err
		}
	}
	return err
}

func lostAgainstAnother(err error) bool {
	var server *pgconn.PgError
	const serializationFailure, deadlockDetected = "40001", "40P01"
	return errors.As(err, &server) && (server.Code == serializationFailure || server.Code == deadlockDetected)
}
