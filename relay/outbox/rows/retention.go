package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

// Retention says which published rows may be deleted.
type Retention struct {
	// Window is how long ago a row must have been published.
	Window time.Duration
	// Statuses may be deleted, as the table has them; empty: the SENT status. It
	// must not name one of the other states of the relay: those rows are
	// unresolved, or FAILED and wait for somebody (I7).
	Statuses []string
}

// purgeRows is how many rows one Purge deletes at most: few enough to be done in
// milliseconds.
const purgeRows = 1000

// validate says what must not be deleted.
func (r Retention) validate(m outbox.Mapping) error {
	for _, state := range []string{m.Ready, m.InProgress, m.Failed} {
		if state != "" && slices.Contains(r.Statuses, state) {
			return fmt.Errorf("retention.statuses: rows with status %q are not done and must not be deleted", state)
		}
	}
	return nil
}

func (r Retention) statuses(m outbox.Mapping) []string {
	if len(r.Statuses) == 0 {
		return []string{m.Sent}
	}
	return r.Statuses
}

// Purge deletes a batch of rows and says whether there may be more; none are
// deleted while another relay does it. The error is ErrReferenced
// when a foreign key references the table: nothing is deleted then.
func (s *Store) Purge(ctx context.Context) (deleted int, more bool, err error) {
	if s.config.Retention == nil {
		return 0, false, nil
	}
	err = s.with(ctx, func(ctx context.Context, conn *pgxpool.Conn, all *statements) error {
		if err := s.requireUnreferenced(ctx, conn, all); err != nil {
			return err
		}
		do := all.retention
		return repeated(func() error {
			tag, err := s.run(ctx, conn, do, s.config.Retention.Window)
			deleted = int(tag.RowsAffected())
			return err
		})
	})
	return deleted, deleted == purgeRows, s.failed(ctx, "delete published rows", err)
}

// ErrReferenced says that a delete would reach through a foreign key into another table,
// or fail there.
var ErrReferenced = errors.New("foreign keys reference the table")

func (s *Store) requireUnreferenced(ctx context.Context, conn *pgxpool.Conn, all *statements) error {
	found, err := query(ctx, s, conn, pgx.RowTo[string], all.referenced)
	if err != nil || len(found) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", ErrReferenced, strings.Join(found, ", "))
}
