package rows

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/event"
)

// backlogCap is where counting stops: 10,000 rows are counted in milliseconds.
const backlogCap = 10_000

// Backlog looks at the table; see backlog.sql for what it does not look at.
func (s *Store) Backlog(ctx context.Context) (event.Backlog, error) {
	var looked []event.Backlog
	err := s.with(ctx, func(ctx context.Context, conn *pgxpool.Conn, all *statements) (err error) {
		looked, err = query(ctx, s, conn, scanBacklog, all.backlog)
		return err
	})
	if err != nil {
		return event.Backlog{}, s.failed(ctx, "look at the backlog", err)
	}
	return looked[0], nil
}

func scanBacklog(row pgx.CollectableRow) (event.Backlog, error) {
	b := event.Backlog{Cap: backlogCap}
	var eligible, unsent pgtype.Timestamptz
	err := row.Scan(&b.SampledAt, &eligible, &unsent, &b.Eligible, &b.InFlight, &b.ExpiredLeases, &b.Failed, &b.Inserted)
	b.OldestEligible = age(b.SampledAt, eligible)
	b.OldestUnsent = age(b.SampledAt, unsent)
	return b, err
}
