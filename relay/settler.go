package relay

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

const (
	firstSettleWait = 20 * time.Millisecond
	maxSettleWait   = time.Second
	// lastLook is what a settle has at least, though the lease be over: the guard
	// then refuses, and tells what became of the rows.
	lastLook = time.Second
)

// settle records the outcomes of one slot, batch by batch.
func (r *Relay) settle(work context.Context, done <-chan published) {
	for p := range done {
		todo := planOutcomes(r.config.Retry, p.batch, p.outcomes, rand.Float64)
		r.settlePlanned(work, p.batch, todo.settlements)
		cause := event.Outage
		if r.stopping.Load() {
			cause = event.Stopping
		}
		r.release(work, p.batch, todo.unsent, cause)
		r.release(work, p.batch, todo.unanswered, event.Unanswered)
	}
}

func (r *Relay) settlePlanned(work context.Context, b event.Batch, s []event.Settlement) {
	rows := 0
	for i := range s {
		if s[i].Action != event.Leave {
			rows++
		}
	}
	if rows == 0 {
		return
	}
	r.record(work, b, rows, func(ctx context.Context) (event.Settled, error) {
		return r.config.Store.Settle(ctx, b, s)
	})
}

func (r *Relay) release(work context.Context, b event.Batch, events []int, cause event.ReleaseCause) {
	if len(events) == 0 {
		return
	}
	r.record(work, b, len(events), func(ctx context.Context) (event.Settled, error) {
		return r.config.Store.Release(ctx, b, events, cause)
	})
}

// record repeats a guarded statement until it is answered or the lease is over.
// Repeating is safe (see Store); giving up is too: the lease gives the rows back.
func (r *Relay) record(work context.Context, b event.Batch, rows int, do func(context.Context) (event.Settled, error)) {
	ctx, cancel := settleContext(work, leaseEnd(b))
	defer cancel()
	for wait := firstSettleWait; ; wait = min(2*wait, maxSettleWait) {
		begin := time.Now()
		done, err := do(ctx)
		if err == nil {
			r.events.Settled(b, done, time.Since(begin))
			return
		}
		// Time that is up says nothing of the database.
		if ctx.Err() == nil {
			r.database.fail(err)
		}
		if sleep(ctx, wait) != nil {
			r.events.Abandoned(b, rows, err)
			return
		}
	}
}

// settleContext ends with the lease, or SettleGrace after work, if that is
// sooner: the last write of a relay outlives its context, but not for ever.
func settleContext(work context.Context, end time.Time) (context.Context, context.CancelFunc) {
	if soonest := time.Now().Add(lastLook); end.Before(soonest) {
		end = soonest
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(work), end)
	stop := context.AfterFunc(work, func() {
		timer := time.AfterFunc(SettleGrace, cancel)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
	return ctx, func() { stop(); cancel() }
}
