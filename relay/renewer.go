package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

const (
	// renewAfter is the part of a lease after which it is renewed: early enough
	// for a renewal that fails to be tried again.
	renewAfter = 3
	// renewAgain is the wait after a renewal that failed.
	renewAgain = 250 * time.Millisecond
)

// tenure is a claimed batch on its way from the claimer to its settler, with the
// end of its claim. Whoever holds it is the only one who touches the batch; the
// renewer reads only Claim, which nobody changes.
type tenure struct {
	batch event.Batch
	// deadline is when sending must have ended.
	deadline *event.Deadline
	// suspects: the batch is from the lane of the suspects, and alone in its relay.
	suspects bool
	// lost: a renewal found rows that are not ours any more.
	lost atomic.Bool

	mu sync.Mutex
	// end is when the claim ends, at the latest, by the local clock.
	end time.Time

	stopRenewing context.CancelFunc
	renewing     sync.WaitGroup
}

// hold begins the tenure of b and renews its claim until letGo; a stop does not
// end that, because sends go on for a while.
func (r *Relay) hold(ctx context.Context, b event.Batch, suspects bool) *tenure {
	t := &tenure{batch: b, suspects: suspects, deadline: event.NewDeadline(deadline(b)), end: leaseEnd(b)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.stopRenewing = cancel
	r.flight.begin(b)
	if r.config.MaxClaim > b.Lease {
		t.renewing.Go(func() { r.renew(ctx, t) })
	}
	return t
}

// letGo ends the renewals. One that is under way is given up and awaited, so that
// it and the settle do not contend for the same rows.
func (t *tenure) letGo() {
	t.stopRenewing()
	t.renewing.Wait()
}

// ends is when the claim ends, at the latest.
func (t *tenure) ends() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end
}

// renew makes the lease begin anew at each third of it, as long as it then ends
// within MaxClaim: sends may take longer than a lease, but not for ever. A row
// that is not ours any more ends the sends of the whole batch; when no answer
// comes until the margin, the deadline passes by itself.
func (r *Relay) renew(ctx context.Context, t *tenure) {
	last := t.batch.Started.Add(r.config.MaxClaim - t.batch.Lease)
	wait := t.batch.Lease / renewAfter
	for sleep(ctx, wait) == nil && !t.deadline.Passed() && !time.Now().After(last) {
		renewed, err := r.renewOnce(ctx, t)
		switch {
		case renewed.Stale > 0:
			return
		case err != nil:
			wait = renewAgain
		default:
			wait = t.batch.Lease / renewAfter
		}
	}
}

func (r *Relay) renewOnce(ctx context.Context, t *tenure) (event.Settled, error) {
	bounded, cancel := context.WithDeadline(ctx, t.ends())
	defer cancel()
	begun := time.Now()
	renewed, err := r.config.Store.Renew(bounded, t.batch)
	switch {
	case bounded.Err() != nil: // Time that is up says nothing of the database.
	case err != nil:
		r.database.fail(err)
	case renewed.Stale > 0:
		t.lost.Store(true)
		t.deadline.Cut()
		r.events.Renewed(renewed)
	default:
		t.extend(begun.Add(t.batch.Lease))
		r.events.Renewed(renewed)
	}
	return renewed, err
}

func (t *tenure) extend(end time.Time) {
	t.mu.Lock()
	t.end = end
	t.mu.Unlock()
	t.deadline.Extend(end.Add(-margin(t.batch.Lease)))
}
