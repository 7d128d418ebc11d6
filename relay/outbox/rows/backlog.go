package rows

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/relayfleet/relayfleet/relay/event"
)

// backlogCap is where counting stops: 10,000 rows are counted in milliseconds.
const backlogCap = 10_000

// Backlog looks at the table; see backlog.sql for what it does not look at.
func (s *Store) Backlog(ctx context.Context) (event.Backlog, error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return event.Backlog{}, s.failed("look at the backlog", err)
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	backlog, err := scanBacklog(conn.QueryRow(ctx, s.statements.backlog))
	return backlog, s.failed("look at the backlog", err)
}

func scanBacklog(row pgx.Row) (event.Backlog, error) {
	b := event.Backlog{Cap: backlogCap}
	var eligible, unsent pgtype.Timestamptz
	if err := row.Scan(&b.SampledAt, &eligible, &unsent, &b.Eligible, &b.InFlight, &b.ExpiredLeases, &b.Failed); err != nil {
		return event.Backlog{}, err
	}
	b.OldestEligible = age(b.SampledAt, eligible)
	b.OldestUnsent = age(b.SampledAt, unsent)
	return b, nil
}
