package relay

import (
	"context"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Store is an outbox, seen as claims. Every change it makes is guarded: it
// touches a row only while the claim is still ours and its lease has not ended,
// on the database's clock (I2).
type Store interface {
	// Claim takes rows that are due, or whose lease has ended, as ask allows, and
	// returns them after its commit. A batch without events: nothing is due. Once
	// it is sent it is bounded by itself, within a few tens of seconds.
	Claim(ctx context.Context, ask event.Ask) (event.Batch, error)
	// Settle records s, one settlement per event of b. Doing it again after an
	// error is safe: what was already recorded is counted as AlreadyMine.
	Settle(ctx context.Context, b event.Batch, s []event.Settlement) (event.Settled, error)
	// Renew makes the lease of b begin anew, and counts the rows that are not
	// ours any more. It reads no payloads and headers: a slot may drop them meanwhile.
	Renew(ctx context.Context, b event.Batch) (event.Settled, error)
	// Release gives back the events of b with these indexes, and the attempt
	// that their claim has charged.
	Release(ctx context.Context, b event.Batch, events []int, cause event.ReleaseCause) (event.Settled, error)
	// Backlog looks at the table.
	Backlog(ctx context.Context) (event.Backlog, error)
}

// Publisher sends batches to the broker, one at a time: every slot has its own.
type Publisher interface {
	// Publish returns one outcome per event of b, in order, by the deadline at
	// the latest; the deadline may move meanwhile. The error is about the broker
	// or the fleet's topic, never about a record; the outcomes are valid beside it.
	Publish(ctx context.Context, b event.Batch, deadline *event.Deadline) ([]event.Outcome, error)
}

// Check asks whether something that the relay depends on can be used now. nil
// means yes.
type Check func(ctx context.Context) error
