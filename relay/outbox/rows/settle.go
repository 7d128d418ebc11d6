package rows

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/relayfleet/relayfleet/relay/event"
)

// errForeign: the batch was claimed elsewhere, or the lengths do not fit. It is
// a mistake of the caller.
var errForeign = errors.New("the batch is not of this store, or lengths differ")

func own(b event.Batch) (*claim, error) {
	if b.Claim == nil && len(b.Events) == 0 {
		return &claim{}, nil
	}
	c, ok := b.Claim.(*claim)
	if !ok || len(c.ids) != len(b.Events) {
		return nil, errForeign
	}
	return c, nil
}

// args are the first four parameters of every guarded statement, for some rows:
// fence, ids, generations, partition keys.
func (c *claim) args(rows []int, keys keyType) []any {
	ids, generations, partitions := make([]string, len(rows)), make([]int64, len(rows)), make([]string, len(rows))
	for i, row := range rows {
		ids[i], generations[i], partitions[i] = c.ids[row], c.generations[row], c.partitions[row]
	}
	return []any{c.fence, keys.array(ids), generations, partitions}
}

func allOf(c *claim) []int { return c.chosen(func(int) bool { return true }) }

// chosen are the rows of which keep is true.
func (c *claim) chosen(keep func(row int) bool) []int {
	rows := make([]int, 0, len(c.ids))
	for row := range c.ids {
		if keep(row) {
			rows = append(rows, row)
		}
	}
	return rows
}

// Settle records one settlement per event, in a transaction per kind of
// outcome, what was published first: rows that cannot be recorded for one
// reason must not undo what the broker has acknowledged, and nearly all batches
// have one kind only. After an error the counts are those of the kinds before
// it; the same call again is safe.
func (s *Store) Settle(ctx context.Context, b event.Batch, settlements []event.Settlement) (event.Settled, error) {
	c, err := own(b)
	if err == nil && len(settlements) != len(b.Events) {
		err = errForeign
	}
	if err != nil {
		return event.Settled{}, fmt.Errorf("settle: %w", err)
	}
	var settled event.Settled
	for _, action := range []event.Action{event.Sent, event.Retry, event.Fail} {
		rows := c.chosen(func(row int) bool { return settlements[row].Action == action })
		done, err := s.change(ctx, c, rows, s.settlement(action, c, rows, settlements))
		if err != nil {
			return settled, s.failed(ctx, "settle", err)
		}
		settled = settled.Add(done)
	}
	return settled, nil
}

// settlement is the statement that records an action.
func (s *Store) settlement(action event.Action, c *claim, rows []int, settlements []event.Settlement) change {
	m := s.config.Mapping
	switch action {
	case event.Retry:
		return change{
			statement: func(all *statements) statement { return all.settleRetry },
			args:      []any{c.delays(rows, settlements), c.reasons(rows, settlements)},
			count:     func(n int) event.Settled { return event.Settled{Retried: n} }, already: s.isReleased,
		}
	case event.Fail:
		return change{
			statement: func(all *statements) statement { return all.settleFailed },
			args:      []any{c.reasons(rows, settlements)},
			count:     func(n int) event.Settled { return event.Settled{Failed: n} }, already: ended(m.Failed),
		}
	case event.Sent, event.Leave:
	}
	return change{
		statement: func(all *statements) statement { return all.settleSent },
		count:     func(n int) event.Settled { return event.Settled{Sent: n} }, already: ended(m.Sent),
	}
}

// delays are by id, in microseconds, the unit of PostgreSQL's intervals.
func (c *claim) delays(rows []int, settlements []event.Settlement) map[string]int64 {
	values := make(map[string]int64, len(rows))
	for _, row := range rows {
		values[c.ids[row]] = max(0, settlements[row].Delay.Microseconds())
	}
	return values
}

func (c *claim) reasons(rows []int, settlements []event.Settlement) map[string]string {
	values := make(map[string]string, len(rows))
	for _, row := range rows {
		values[c.ids[row]] = storable(settlements[row].Reason)
	}
	return values
}

// maxReason bounds what is kept of a reason, in bytes.
const maxReason = 500

// storable leaves nothing in a reason that a database of any encoding could
// refuse: a settle that cannot succeed would publish the event for ever.
func storable(reason string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, reason)
	return plain[:min(len(plain), maxReason)]
}

// Release gives back events, by index, and the attempt that their claim has
// charged; an index that comes twice counts once.
func (s *Store) Release(
	ctx context.Context, b event.Batch, events []int, cause event.ReleaseCause,
) (event.Settled, error) {
	c, err := own(b)
	if err != nil {
		return event.Settled{}, fmt.Errorf("release: %w", err)
	}
	listed := make([]bool, len(b.Events))
	for _, i := range events {
		if i < 0 || i >= len(listed) {
			return event.Settled{}, fmt.Errorf("release: no event %d in a batch of %d", i, len(listed))
		}
		listed[i] = true
	}
	rows := c.chosen(func(row int) bool { return listed[row] })
	if cause == event.Unanswered && s.config.Mapping.Attempts == "" {
		return event.Settled{Released: len(rows)}, nil // There is no attempt to give back.
	}
	settled, err := s.change(ctx, c, rows, s.giving(cause, c, rows))
	if cause == event.Outage {
		s.lookEverywhere()
	}
	return settled, s.failed(ctx, "release", err)
}

// giving is the statement that gives rows, or only their attempts, back.
func (s *Store) giving(cause event.ReleaseCause, c *claim, rows []int) change {
	count := func(n int) event.Settled { return event.Settled{Released: n} }
	if cause == event.Unanswered {
		attempts := make(map[string]string, len(rows))
		for _, row := range rows {
			attempts[c.ids[row]] = strconv.FormatInt(c.attempts[row], 10)
		}
		return change{
			statement: func(all *statements) statement { return all.uncharge }, args: []any{attempts}, count: count,
			already: func(r refusedRow) bool { return r.isOurs() && r.now.Attempts < r.attempts },
		}
	}
	dueNow := cause == event.Stopping
	return change{
		statement: func(all *statements) statement { return all.release }, args: []any{dueNow}, count: count,
		already: s.isReleased,
	}
}

// Renew makes the leases of b begin anew, and counts those that are not ours any
// more.
func (s *Store) Renew(ctx context.Context, b event.Batch) (event.Settled, error) {
	c, err := own(b)
	if err != nil {
		return event.Settled{}, fmt.Errorf("renew: %w", err)
	}
	renewed, err := s.change(ctx, c, allOf(c), change{
		statement: func(all *statements) statement { return all.renew }, args: []any{s.config.Lease},
		count:   func(n int) event.Settled { return event.Settled{Renewed: n} },
		already: func(r refusedRow) bool { return ended(s.config.Mapping.Sent)(r) || s.isReleased(r) },
	})
	return renewed, s.failed(ctx, "renew", err)
}
