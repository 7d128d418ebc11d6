package relay

import (
	"context"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

const (
	// An empty claim costs the database about 0.2 ms: after activity it is asked
	// again at once, an idle table ever less often.
	minIdleWait = 3 * time.Millisecond
	maxIdleWait = 150 * time.Millisecond
)

// claim hands batches to the slots until ctx ends, then closes the channel.
func (r *Relay) claim(ctx context.Context) {
	defer close(r.claimed)
	idle := minIdleWait
	for r.waitForGates(ctx) == nil {
		b, ok := r.claimOnce(ctx)
		switch {
		case !ok:
			continue
		case len(b.Events) == 0:
			if sleep(ctx, idle) != nil {
				return
			}
			idle = min(2*idle, maxIdleWait)
			continue
		}
		idle = minIdleWait
		r.handOver(ctx, b)
	}
}

func (r *Relay) waitForGates(ctx context.Context) error {
	for {
		if err := r.database.wait(ctx, true); err != nil {
			return err
		}
		if err := r.broker.wait(ctx, true); err != nil {
			return err
		}
		if r.database.isOpen() {
			return nil
		}
	}
}

// claimOnce claims. A stop does not cancel it: it may have committed.
func (r *Relay) claimOnce(ctx context.Context) (event.Batch, bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	begin := time.Now()
	b, err := r.config.Store.Claim(ctx, event.Ask{Rows: r.config.BatchSize, Bytes: r.config.BatchBytes})
	if err != nil {
		r.database.fail(err)
		return event.Batch{}, false
	}
	r.database.worked()
	r.claimedOnce.Store(true)
	r.events.Claimed(b, time.Since(begin))
	return b, true
}

// handOver gives b to the next free slot, or back to the table if ctx ends first.
func (r *Relay) handOver(ctx context.Context, b event.Batch) {
	select {
	case r.claimed <- b:
	case <-ctx.Done():
		r.release(context.WithoutCancel(ctx), b, allOf(b), event.Stopping)
	}
}

func allOf(b event.Batch) []int {
	all := make([]int, len(b.Events))
	for i := range all {
		all[i] = i
	}
	return all
}
