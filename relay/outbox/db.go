package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DB is a small pool of connections whose credentials may come late and change.
//
// Credentials are files. As long as none have worked, every new connection
// reads them. Those that have worked stay in use until others have worked too,
// on a connection of their own: so a file that vanishes, is emptied or is wrong
// takes nothing away.
type DB struct {
	config Config
	pool   *pgxpool.Pool

	// mu guards the credentials in use. They are written by whichever
	// connection attempt tries new ones, and read by all.
	mu struct {
		sync.Mutex
		accepted   credentials
		connection *pgx.ConnConfig // nil until some have worked
	}
}

// Open makes a DB. It connects to nothing and reads no file; the error is about
// the configuration alone. Close ends what it started.
func Open(config Config) (*DB, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	// The pool wants a configuration of the driver's making; beforeConnect
	// replaces all of it.
	settings, err := pgxpool.ParseConfig("postgres://nobody@localhost/nothing")
	if err != nil {
		return nil, fmt.Errorf("open outbox: %w", errors.New("the environment's PG variables cannot be used"))
	}
	db := &DB{config: config}
	settings.MaxConns = int32(config.MaxConnections) //nolint:gosec // validate bounds it.
	settings.BeforeConnect = db.beforeConnect
	settings.PingTimeout = config.StatementTimeout
	settings.MaxConnLifetimeJitter = time.Minute
	if db.pool, err = pgxpool.NewWithConfig(context.Background(), settings); err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	return db, nil
}

// Close waits for the statements under way and ends all connections.
func (db *DB) Close() { db.pool.Close() }

// Pool is where statements are sent to.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// StatementTimeout is Config.StatementTimeout.
func (db *DB) StatementTimeout() time.Duration { return db.config.StatementTimeout }

// Refresh reads the files and, if they have changed, tries what they say on a
// connection of its own; when that works, the connections made before are ended
// as they become free. It is to be called every few seconds. The error says
// what is wrong with the files or the new credentials; until good ones come the
// ones in use stay. nil says nothing about the database, only that there is
// nothing new to say about the credentials.
func (db *DB) Refresh(ctx context.Context) error {
	changed, err := db.adopt(ctx)
	if err != nil {
		return fmt.Errorf("refresh credentials: %w", err)
	}
	if changed {
		db.pool.Reset()
	}
	return nil
}

// Reconnect ends all connections as they become free; to be called when the
// server can no longer be written to, because after a fail-over another can.
func (db *DB) Reconnect() { db.pool.Reset() }

// beforeConnect gives a new connection the newest credentials that have worked.
func (db *DB) beforeConnect(ctx context.Context, connection *pgx.ConnConfig) error {
	_, err := db.adopt(ctx)
	use := db.inUse()
	if use == nil {
		return err
	}
	*connection = *use
	return nil
}

func (db *DB) inUse() *pgx.ConnConfig {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.mu.connection == nil {
		return nil
	}
	return db.mu.connection.Copy()
}

// adopt tries the files' content if it is not what is in use, and says whether
// other credentials are now in use.
func (db *DB) adopt(ctx context.Context) (changed bool, err error) {
	found, err := db.config.readCredentials()
	if err != nil {
		return false, err
	}
	if db.isAccepted(found) {
		return false, nil
	}
	connection, err := db.config.connection(found)
	if err != nil {
		return false, err
	}
	if err := db.try(ctx, connection); err != nil {
		return false, err
	}
	db.accept(found, connection)
	return true, nil
}

func (db *DB) isAccepted(found credentials) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.mu.connection != nil && db.mu.accepted == found
}

func (db *DB) accept(found credentials, connection *pgx.ConnConfig) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.mu.accepted, db.mu.connection = found, connection
}

func (db *DB) try(ctx context.Context, connection *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, connection.Copy())
	if err != nil {
		return Classify(err)
	}
	// It has served; whether it ends politely does not matter.
	_ = conn.Close(ctx)
	return nil
}

// Failed is to be told of every error of a statement. It returns it classified,
// and ends the connections that a server left behind by a fail-over.
func (db *DB) Failed(err error) error {
	problem := Classify(err)
	var server *pgconn.PgError
	if problem.Code == ReadOnly || (errors.As(err, &server) && problem.Code == Unreachable) {
		db.Reconnect()
	}
	return problem
}
