package rows

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/relayfleet/relayfleet/relay/event"
)

// change is a guarded statement over some rows of a claim.
type change struct {
	sql string
	// args follow the token, the ids and the generations.
	args []any
	// count says as what n changed rows are counted.
	count func(n int) event.Settled
	// already tells whether a refused row looks as this statement leaves it.
	already func(refusedRow) bool
}

// change runs a statement and finds out why rows were refused. Nothing is ever
// done about a refused row beyond counting it (I2).
func (s *Store) change(ctx context.Context, token [16]byte, c *claim, rows []int, do change) (event.Settled, error) {
	if len(rows) == 0 {
		return event.Settled{}, nil
	}
	ids, generations := c.keys(rows)
	args := append([]any{pgtype.UUID{Bytes: token, Valid: true}, ids, generations}, do.args...)
	changed, err := s.ids(ctx, do.sql, args...)
	if err != nil {
		return event.Settled{}, err
	}
	settled := do.count(len(changed))
	if len(changed) == len(rows) {
		return settled, nil
	}
	marks := c.marked(changed)
	refused := make([]int, 0, len(rows)-len(changed))
	for _, row := range rows {
		if !marks[row] {
			refused = append(refused, row)
		}
	}
	why, err := s.explain(ctx, token, c, refused, do)
	return settled.Add(why), err
}

// state is how a refused row looks now.
type state struct {
	ID         int64
	Status     string
	Generation int64
	Token      pgtype.UUID
	Attempts   int32
}

// refusedRow is a refused row beside the claim that wanted it.
type refusedRow struct {
	now        state
	token      [16]byte
	generation int64
	attempts   int32
}

func (r refusedRow) isOurs() bool {
	return r.now.Generation == r.generation && r.now.Token.Valid && r.now.Token.Bytes == r.token
}

// isReleased: only the claim's owner makes a row READY without a new generation.
func (r refusedRow) isReleased() bool {
	return r.now.Status == "READY" && r.now.Generation == r.generation && !r.now.Token.Valid
}

// ended makes the question whether this very claim has left a row with a status.
func ended(status string) func(refusedRow) bool {
	return func(r refusedRow) bool { return r.now.Status == status && r.isOurs() }
}

// explain reads refused rows once and counts them by kind. A row that is gone
// is stale.
func (s *Store) explain(ctx context.Context, token [16]byte, c *claim, refused []int, do change) (event.Settled, error) {
	states, err := s.states(ctx, c, refused)
	if err != nil {
		return event.Settled{}, err
	}
	var settled event.Settled
	for _, row := range refused {
		now, there := states[c.ids[row]]
		found := refusedRow{now, token, c.generations[row], c.attempts[row]}
		switch {
		case there && do.already(found):
			settled.AlreadyMine++
		case there && found.isOvertaken():
			settled.Overtaken++
		default:
			settled.Stale++
		}
	}
	return settled, nil
}

// isOvertaken: a consumer moved a row that was still ours to a status of its own.
func (r refusedRow) isOvertaken() bool {
	switch r.now.Status {
	case "READY", "INPROGRESS", "SENT", "FAILED":
		return false
	}
	return r.isOurs()
}

func (s *Store) states(ctx context.Context, c *claim, rows []int) (map[int64]state, error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	ids, _ := c.keys(rows)
	found, err := conn.Query(ctx, s.statements.refused, ids)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(found, pgx.RowToStructByPos[state])
	states := make(map[int64]state, len(list))
	for _, st := range list {
		states[st.ID] = st
	}
	return states, err
}
