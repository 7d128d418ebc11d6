package rows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

// Store keeps claims in the rows of one table. It may be used by several
// goroutines, but a batch by one at a time.
type Store struct {
	db         *outbox.DB
	lease      time.Duration
	statements statements

	mu struct {
		sync.Mutex
		watermark watermark
		lost      []lostClaim
		rowsFit   int // how many rows the byte budget let through last time; 0: it did not matter
	}
}

// New makes the store of a table, whose claims hold for lease. It connects to
// nothing.
func New(db *outbox.DB, table outbox.Table, lease time.Duration) *Store {
	return &Store{db: db, lease: lease, statements: newStatements(table)}
}

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

// failed says what was being done, once, for every exported method.
func (s *Store) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, s.db.Failed(err))
}

// maxTries bounds how often a statement that lost against another is repeated.
const maxTries = 5

// ids runs a guarded statement that returns the ids of the rows it has changed.
// Only others' bulk changes can make it lose: it is repeated at once.
func (s *Store) ids(ctx context.Context, sql string, args ...any) ([]int64, error) {
	var changed []int64
	err := repeated(func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		ctx, cancel := context.WithTimeout(ctx, s.patience())
		defer cancel()
		rows, err := conn.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		changed, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return changed, err
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
