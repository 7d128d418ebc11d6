package rows

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/event"
)

// claim is a batch's memory of its rows: one entry per event, in the events'
// order. Keys are kept as PostgreSQL prints them, whatever their type.
type claim struct {
	// fence is what every later statement compares: the token, or where the table
	// has none, when the server was started.
	fence       string
	ids         []string
	generations []int64
	attempts    []int64
	// partitions are the rows' partition keys; empty for a table that is whole.
	partitions []string
}

func (c *claim) key(row int) Key { return Key{c.ids[row], c.partitions[row]} }

// claimed is what the claim's statement says of a row.
type claimed struct {
	id         string
	generation int64
	attempts   int64
	due        time.Time
	reclaimed  bool
	bytes      int32
	partition  string
	// place is what rows are sorted by first: where order matters their order.
	place int64
}

// Claim takes rows as ask allows. Once it is sent it is not cancelled, only
// bounded: whoever cancels a claim does not learn whether it has happened.
//
// Rows come in the order of their due time, then of their insertion. Payloads
// are read after the commit, and at most ask.Bytes of them: rows beyond are given
// back at once. A claim whose answer is lost is looked for by the next Claim,
// which gives its rows and their attempts back.
func (s *Store) Claim(ctx context.Context, ask event.Ask) (event.Batch, error) {
	if ask.Rows < 1 {
		return event.Batch{}, fmt.Errorf("claim: %d rows are not a positive number", ask.Rows)
	}
	var batch event.Batch
	err := s.with(context.WithoutCancel(ctx), func(ctx context.Context, conn *pgxpool.Conn, all *statements) (err error) {
		if err := s.recoverLost(ctx, conn, all); err != nil {
			return fmt.Errorf("give back a claim whose answer was lost: %w", err)
		}
		batch, err = s.claim(ctx, conn, all, ask)
		return err
	})
	return batch, s.failed(ctx, claiming, err)
}

func (s *Store) claim(ctx context.Context, conn *pgxpool.Conn, all *statements, ask event.Ask) (event.Batch, error) {
	begun := &taking{token: newToken(), started: time.Now(), ask: ask}
	begun.ask.Rows = s.fitting(ask.Rows)
	if err := s.take(ctx, conn, all, begun); err != nil {
		if maybeCommitted(err) {
			s.remember(begun)
		}
		return event.Batch{}, err
	}
	batch := begun.batch(s.config.Lease)
	if len(begun.taken) == 0 {
		return batch, nil
	}
	kept, surplus := s.split(begun.taken, ask.Bytes)
	if err := s.giveBack(ctx, conn, all, newClaim(s.fence(begun), surplus)); err != nil {
		s.remember(begun)
		return event.Batch{}, fmt.Errorf("give back rows beyond %d bytes: %w", ask.Bytes, err)
	}
	if err := s.read(ctx, conn, all, &batch, begun, kept); err != nil {
		s.remember(begun)
		return event.Batch{}, fmt.Errorf("read claimed rows: %w", err)
	}
	return batch, nil
}

// taking is a claim from before it is sent until its rows are read.
type taking struct {
	ask     event.Ask
	token   uuid.UUID
	started time.Time

	// now is the database's time of the claim, server when it was started.
	now          time.Time
	server       string
	oldest       time.Time
	suspectsWait bool
	abandoned    int
	taken        []claimed
}

// lone is the token of a claim that takes a single suspect: version 8 instead of 4.
func (t *taking) lone() uuid.UUID {
	token := t.token
	token[6] = token[6]&0x0f | 0x80
	return token
}

func (t *taking) isLone() bool { return t.ask.Suspects && len(t.taken) == 1 }

// used is the token that the rows have got.
func (t *taking) used() uuid.UUID {
	if t.isLone() {
		return t.lone()
	}
	return t.token
}

func (t *taking) batch(lease time.Duration) event.Batch {
	return event.Batch{
		Token: t.used(), Lone: t.isLone(), Started: t.started, Lease: lease,
		SuspectsWait: t.suspectsWait, Abandoned: t.abandoned,
	}
}

// fence is what every later statement about these rows compares.
func (s *Store) fence(t *taking) string {
	if s.config.Mapping.ClaimToken == "" {
		return t.server
	}
	return t.used().String()
}

// take runs the claim and returns when its commit is known (I4).
func (s *Store) take(ctx context.Context, conn *pgxpool.Conn, all *statements, t *taking) error {
	look := s.look(t.started)
	flush := &pgx.Batch{}
	if s.config.Order.ByKey {
		// First: whoever waits here sees what the claim before has done.
		flush.Queue(all.lockOrdered.sql)
	}
	flush.Queue(all.durable.sql).QueryRow(func(row pgx.Row) error {
		return row.Scan(&t.now, &t.server, &t.suspectsWait, nil)
	})
	if t.ask.Suspects {
		s.queueSuspects(flush, all, t, look.outages)
	} else {
		do := all.limited(s.config.Order.claimStatement(), t.ask.Rows)
		flush.Queue(do.sql, do.args(t.token.String(), s.config.Lease, look.low, nil, look.outages)...).Query(t.collect)
	}
	if err := s.db.Flush(ctx, conn, flush); err != nil {
		return err
	}
	s.looked(t, look.reach)
	if len(t.taken) > t.ask.Rows {
		return fmt.Errorf("%w: %d rows for a limit of %d", errOverClaimed, len(t.taken), t.ask.Rows)
	}
	slices.SortFunc(t.taken, func(a, b claimed) int {
		return cmp.Or(cmp.Compare(a.place, b.place), a.due.Compare(b.due), cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	return nil
}

// look is where a claim looks, and what it has to know.
type look struct {
	reach   reach
	low     pgtype.Timestamptz
	outages string
}

func (s *Store) look(started time.Time) look {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.watermark.next(started)
	return look{r, s.mu.watermark.low(r), s.mu.outages.text()}
}

// looked notes what a claim that has committed tells.
func (s *Store) looked(t *taking, r reach) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.outages.claimed(t.now)
	if !t.ask.Suspects {
		s.mu.watermark.advance(t, r)
	}
}

// queueSuspects first ends those that are to be given up.
func (s *Store) queueSuspects(flush *pgx.Batch, all *statements, t *taking, outages string) {
	if s.config.Mapping.Counter() == "" {
		return
	}
	budget := int64(1) // Without a count of attempts every suspect comes alone.
	if s.config.Mapping.Attempts != "" {
		budget = int64(max(t.ask.MaxAttempts, 1))
	}
	if canAbandon(s.config.Mapping) {
		do := all.abandon
		flush.Queue(do.sql, do.args(budget, nil, nil, nil, outages)...).Exec(func(tag pgconn.CommandTag) error {
			t.abandoned = int(tag.RowsAffected())
			return nil
		})
	}
	do := all.limited("suspects", t.ask.Rows)
	flush.Queue(do.sql, do.args(t.token.String(), s.config.Lease, t.lone().String(), budget, outages)...).Query(t.collect)
}

// collect reads what a claim returns; the oldest due time comes with every row.
func (t *taking) collect(rows pgx.Rows) error {
	var (
		row         claimed
		id          key
		due, oldest pgtype.Timestamptz
		partition   pgtype.Text
	)
	if err := rows.Err(); err != nil {
		return err // Nothing came, so that there is nothing to describe.
	}
	into := []any{&id, &row.generation, &row.attempts, &due, &row.bytes, &partition, &oldest, &row.reclaimed}
	if len(rows.FieldDescriptions()) > len(into) {
		into = append(into, &row.place)
	}
	_, err := pgx.ForEachRow(rows, into, func() error {
		row.id, row.due, row.partition = id.String(), finite(due), partition.String
		t.taken, t.oldest = append(t.taken, row), finite(oldest)
		return nil
	})
	return err
}

// errOverClaimed cannot happen with a claim in its CTE form; a plan that took
// more rows than asked for must not go unseen. The rows are given back.
var errOverClaimed = errors.New("the claim took too many rows")

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
func newToken() (token uuid.UUID) {
	_, _ = rand.Read(token[:]) // It never fails; see its documentation.
	const version, variant = 0x40, 0x80
	token[6] = token[6]&0x0f | version
	token[8] = token[8]&0x3f | variant
	return token
}

func newClaim(fence string, rows []claimed) *claim {
	c := &claim{fence: fence}
	for _, row := range rows {
		c.ids = append(c.ids, row.id)
		c.generations = append(c.generations, row.generation)
		c.attempts = append(c.attempts, row.attempts)
		c.partitions = append(c.partitions, row.partition)
	}
	return c
}
