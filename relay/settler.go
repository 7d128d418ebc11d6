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
func (r *Relay) settle(work context.Context, settling *step, done <-chan published) {
	for p := range done {
		settling.begin(p.ends().Add(lastLook + SettleGrace))
		r.settleOne(work, p)
		settling.end()
	}
}

func (r *Relay) settleOne(work context.Context, p published) {
	defer r.flight.end(p.batch)
	p.letGo()
	todo := r.config.Retry.plan(r.config.Abilities, p.batch, p.outcomes, p.suspected, rand.Float64)
	r.settlePlanned(work, p.tenure, todo.settlements)
	r.release(work, p.tenure, todo.unsent, r.unsentCause())
	r.release(work, p.tenure, todo.unanswered, event.Unanswered)
}

// giveBack ends a batch that no slot has begun.
func (r *Relay) giveBack(work context.Context, t *tenure) {
	defer r.flight.end(t.batch)
	t.letGo()
	all := make([]int, len(t.batch.Events))
	for i := range all {
		all[i] = i
	}
	r.release(work, t, all, event.Stopping)
}

func (r *Relay) unsentCause() event.ReleaseCause {
	if r.stopping.Load() {
		return event.Stopping
	}
	return event.Outage
}

func (r *Relay) settlePlanned(work context.Context, t *tenure, s []event.Settlement) {
	rows := 0
	for i := range s {
		if s[i].Action != event.Leave {
			rows++
		}
	}
	if rows == 0 {
		return
	}
	r.record(work, t, rows, func(ctx context.Context) (event.Settled, error) {
		return r.config.Store.Settle(ctx, t.batch, s)
	})
}

func (r *Relay) release(work context.Context, t *tenure, events []int, cause event.ReleaseCause) {
	if len(events) == 0 {
		return
	}
	if cause == event.Stopping && r.config.Ordered {
		cause = event.Outage // It moves no due time, which could change the order of a key.
	}
	r.record(work, t, len(events), func(ctx context.Context) (event.Settled, error) {
		return r.config.Store.Release(ctx, t.batch, events, cause)
	})
}

// record repeats a guarded statement until it is answered or the lease is over.
// Repeating is safe (see Store); giving up is too: the lease gives the rows back.
func (r *Relay) record(work context.Context, t *tenure, rows int, do func(context.Context) (event.Settled, error)) {
	ctx, cancel := settleContext(work, t.ends())
	defer cancel()
	for wait := firstSettleWait; ; wait = min(2*wait, maxSettleWait) {
		begin := time.Now()
		done, err := do(ctx)
		if err == nil {
			r.events.Settled(t.batch, done, time.Since(begin))
			return
		}
		// Time that is up says nothing of the database.
		if ctx.Err() == nil {
			r.database.fail(err)
		}
		if sleep(ctx, wait) != nil {
			r.events.Abandoned(t.batch, rows, err)
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
