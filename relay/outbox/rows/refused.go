package rows

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/event"
)

// change is a guarded statement over some rows of a claim.
type change struct {
	statement func(*statements) statement
	// args follow the fence, the ids, the generations and the partition keys.
	args []any
	// count says as what n changed rows are counted.
	count func(n int) event.Settled
	// already tells whether a row looks as this statement leaves it.
	already func(refusedRow) bool
}

// change runs a statement and finds out why rows were refused. Nothing is ever
// done about a refused row beyond counting it (I2).
func (s *Store) change(ctx context.Context, c *claim, rows []int, do change) (event.Settled, error) {
	if len(rows) == 0 {
		return event.Settled{}, nil
	}
	changed, err := s.exec(ctx, func(all *statements) (statement, []any) {
		return do.statement(all), append(c.args(rows, all.keys), do.args...)
	})
	if err != nil {
		return event.Settled{}, err
	}
	settled := do.count(changed)
	if changed == len(rows) {
		return settled, nil
	}
	why, err := s.explain(ctx, c, rows, changed, do)
	return settled.Add(why), err
}

// state is how a row looks now.
type state struct {
	ID         key
	Partition  pgtype.Text
	Status     pgtype.Text
	Generation int64
	Token      pgtype.Text
	Attempts   int64
}

// refusedRow is a row beside the claim that wanted it.
type refusedRow struct {
	now        state
	generation int64
	attempts   int64
	// token is that of the claim; empty where the table has none.
	token string
}

// isOurs: no other claim has come after ours.
func (r refusedRow) isOurs() bool {
	return r.now.Generation == r.generation && (r.token == "" || r.now.Token.Valid && r.now.Token.String == r.token)
}

// isReleased: only the claim's owner makes a row READY without a new generation.
func (s *Store) isReleased(r refusedRow) bool {
	if r.now.Status.String != s.config.Mapping.Ready || r.now.Token.Valid {
		return false
	}
	// Without a generation a row that nobody holds may have been through another
	// claim; it is not ours any more, and says no more than that.
	return s.config.Mapping.Generation != "" && r.now.Generation == r.generation
}

// ended makes the question whether this very claim has left a row with a status.
func ended(status string) func(refusedRow) bool {
	return func(r refusedRow) bool { return r.now.Status.String == status && r.isOurs() }
}

// explain looks once at the rows of a statement that has changed only some of
// them, and counts the others by kind. A row that is gone is stale. The rows that
// the statement has changed look as it leaves them, so they are taken off there.
func (s *Store) explain(ctx context.Context, c *claim, rows []int, changed int, do change) (event.Settled, error) {
	states, err := s.states(ctx, c, rows)
	if err != nil {
		return event.Settled{}, err
	}
	var seen event.Settled
	for _, row := range rows {
		now, there := states[c.key(row)]
		found := refusedRow{now: now, generation: c.generations[row], attempts: c.attempts[row]}
		if s.config.Mapping.ClaimToken != "" {
			found.token = c.fence
		}
		switch {
		case there && do.already(found):
			seen.AlreadyMine++
		case there && s.isOvertaken(found):
			seen.Overtaken++
		default:
			seen.Stale++
		}
	}
	refused := len(rows) - changed
	// A renewal leaves a row as it was: living, ours, and so counted as stale above.
	stale := min(seen.Stale, refused)
	if do.count(1).Renewed > 0 {
		stale = max(0, refused-seen.AlreadyMine-seen.Overtaken)
	}
	overtaken := min(seen.Overtaken, refused-stale)
	return event.Settled{Stale: stale, Overtaken: overtaken, AlreadyMine: refused - stale - overtaken}, nil
}

// isOvertaken: a consumer moved a row that was still ours to a status of its own.
func (s *Store) isOvertaken(r refusedRow) bool {
	m := s.config.Mapping
	switch r.now.Status.String {
	case m.Ready, m.InProgress, m.Sent, m.Failed:
		return false
	}
	return r.isOurs()
}

func (s *Store) states(ctx context.Context, c *claim, rows []int) (map[Key]state, error) {
	states := map[Key]state{}
	err := s.with(ctx, func(ctx context.Context, conn *pgxpool.Conn, all *statements) error {
		list, err := query(ctx, s, conn, pgx.RowToStructByPos[state], all.refused, c.args(rows, all.keys)...)
		for _, st := range list {
			states[Key{st.ID.String(), st.Partition.String}] = st
		}
		return err
	})
	return states, err
}
