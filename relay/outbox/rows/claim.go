package rows

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/event"
)

// claim is a batch's memory of its rows: one entry per event, in the events'
// order.
type claim struct {
	ids, generations []int64
	attempts         []int32
}

// claimed is what the claim's statement says of a row.
type claimed struct {
	id, generation int64
	attempts       int32
	due            time.Time
	reclaimed      bool
	bytes          int32
}

// Claim takes up to limit rows. Once it is sent it is not cancelled, only
// bounded: whoever cancels a claim does not learn whether it has happened.
//
// Rows come in the order of their due time, then id. Payloads are read after
// the commit, and at most maxBytes of them: rows beyond are given back at once.
// A claim whose answer is lost is looked for by the next Claim, which gives its
// rows and their attempts back.
func (s *Store) Claim(ctx context.Context, limit int) (event.Batch, error) {
	if limit < 1 {
		return event.Batch{}, fmt.Errorf("claim: limit %d is not positive", limit)
	}
	conn, err := s.acquire(ctx)
	if err != nil {
		return event.Batch{}, s.failed("claim", err)
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience())
	defer cancel()
	if err := s.recoverLost(ctx, conn); err != nil {
		return event.Batch{}, s.failed("give back a claim whose answer was lost", err)
	}
	batch, err := s.claim(ctx, conn, s.fitting(limit))
	return batch, s.failed("claim", err)
}

func (s *Store) claim(ctx context.Context, conn *pgxpool.Conn, limit int) (event.Batch, error) {
	batch := event.Batch{Token: newToken(), Started: time.Now(), Lease: s.lease}
	now, taken, err := s.take(ctx, conn, batch, limit)
	if err != nil {
		if maybeCommitted(err) {
			s.remember(batch)
		}
		return event.Batch{}, err
	}
	if len(taken) == 0 {
		return batch, nil
	}
	kept, surplus := s.split(taken)
	if err := s.giveBack(ctx, conn, batch, surplus); err != nil {
		s.remember(batch)
		return event.Batch{}, fmt.Errorf("give back rows beyond %d bytes: %w", maxBytes, err)
	}
	if err := s.read(ctx, conn, &batch, kept, now); err != nil {
		s.remember(batch)
		return event.Batch{}, fmt.Errorf("read claimed rows: %w", err)
	}
	return batch, nil
}

// take runs the claim and returns when its commit is known (I4), with the
// database's time of it.
func (s *Store) take(ctx context.Context, conn *pgxpool.Conn, b event.Batch, limit int) (time.Time, []claimed, error) {
	low, sweep := s.from(b.Started)
	var (
		now   time.Time
		taken []claimed
	)
	flush := &pgx.Batch{}
	flush.Queue(s.statements.durable).QueryRow(func(row pgx.Row) error {
		return row.Scan(&now, nil)
	})
	flush.Queue(s.statements.claim(limit), pgtype.UUID{Bytes: b.Token, Valid: true}, s.lease, low).Query(
		func(rows pgx.Rows) (err error) {
			taken, err = pgx.CollectRows(rows, scanClaimed)
			return err
		})
	// Close returns nil only after the server has said that it has committed.
	if err := conn.SendBatch(ctx, flush).Close(); err != nil {
		return now, nil, err
	}
	if len(taken) > limit {
		return now, nil, fmt.Errorf("%w: %d rows for a limit of %d", errOverClaimed, len(taken), limit)
	}
	slices.SortFunc(taken, func(a, b claimed) int {
		return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.id, b.id))
	})
	s.advance(b.Started, sweep, now, taken)
	return now, taken, nil
}

// errOverClaimed cannot happen with a claim in its CTE form; a plan that took
// more rows than asked for must not go unseen. The rows are given back.
var errOverClaimed = errors.New("the claim took too many rows")

func scanClaimed(row pgx.CollectableRow) (claimed, error) {
	var c claimed
	var due pgtype.Timestamptz
	err := row.Scan(&c.id, &c.generation, &c.attempts, &due, &c.reclaimed, &c.bytes)
	c.due = finite(due)
	return c, err
}

// finite is the zero time for NULL and for PostgreSQL's infinities: a row that
// says -infinity is due like any other, and must not stop a batch.
func finite(t pgtype.Timestamptz) time.Time {
	if !t.Valid || t.InfinityModifier != pgtype.Finite {
		return time.Time{}
	}
	return t.Time
}

// maybeCommitted tells whether a failed claim may hold rows all the same. An
// error that the server gave means that it has undone the claim, unless it
// ended the session, which it may do after a commit.
func maybeCommitted(err error) bool {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server.SeverityUnlocalized != "ERROR" && server.Severity != "ERROR"
	}
	return !pgconn.SafeToRetry(err)
}

// newToken is a uuid of version 4.
func newToken() (token [16]byte) {
	_, _ = rand.Read(token[:]) // It never fails; see its documentation.
	const version, variant = 0x40, 0x80
	token[6] = token[6]&0x0f | version
	token[8] = token[8]&0x3f | variant
	return token
}

func newClaim(rows []claimed) *claim {
	c := &claim{}
	for _, row := range rows {
		c.ids = append(c.ids, row.id)
		c.generations = append(c.generations, row.generation)
		c.attempts = append(c.attempts, row.attempts)
	}
	return c
}
