package relay

import (
	"context"
	"slices"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

const (
	// An empty claim costs the database about 0.2 ms, so after activity it is
	// asked again soon, and an idle table ever less often.
	minIdleWait = 3 * time.Millisecond
	maxIdleWait = 150 * time.Millisecond
	// hintedIdleWait is maxIdleWait while notifications are heard. Hints get lost,
	// so the table is asked all the same.
	hintedIdleWait = time.Second
	// suspectsRest is the wait after a claim for suspects that found none, because
	// another relay was faster. Each such claim empties the pipeline first.
	suspectsRest = time.Second
)

// claimer is the one goroutine that claims.
type claimer struct {
	*Relay
	// giveBack ends what no slot has begun.
	giveBack func(*tenure)
	idle     time.Duration
	// unhinted: the last wait was a long one, and no hint came in it. silent counts
	// the claims in a row that found new rows after one, and unannounced says that
	// they are too many to rely on hints.
	unhinted    bool
	silent      int
	unannounced bool
	// suspectsAt is when suspects may be claimed again.
	suspectsAt time.Time
}

// run hands batches to the slots until ctx ends, then closes their channel.
func (c *claimer) run(ctx context.Context) {
	defer close(c.claimed)
	for c.waitForGates(ctx) == nil {
		b, ok := c.claim(ctx, event.Ask{Rows: c.config.BatchSize, Bytes: c.batchBytes()})
		if !ok {
			continue
		}
		c.heed(b)
		taken := len(b.Events)
		c.handOver(ctx, b, false)
		if b.SuspectsWait {
			taken += c.claimSuspects(ctx)
		}
		full := len(b.Events) >= c.config.BatchSize
		if !full && c.rest(ctx, taken > 0) != nil {
			return
		}
	}
}

// claimSuspects takes rows of which one may be what kills its relays, and returns
// how many. They are alone in this relay: otherwise rows in other slots would be
// charged for what one of them does. An ordinary claim precedes each such claim,
// so that neither kind of row waits for the last one of the other.
func (c *claimer) claimSuspects(ctx context.Context) int {
	if time.Now().Before(c.suspectsAt) || c.flight.landed(ctx) != nil || !c.database.isOpen() || !c.broker.isOpen() {
		return 0
	}
	b, ok := c.claim(ctx, event.Ask{
		Rows: c.config.BatchSize, Bytes: c.batchBytes(), Suspects: true, MaxAttempts: c.config.Retry.MaxAttempts,
	})
	if ok && len(b.Events)+b.Abandoned == 0 {
		c.suspectsAt = time.Now().Add(suspectsRest)
	}
	c.handOver(ctx, b, true)
	_ = c.flight.landed(ctx) // Whoever claims next sees that ctx has ended.
	return len(b.Events)
}

// batchBytes is a batch's part of the budget: one waits in the claimer's hand
// while each slot sends one. A settler needs no payloads.
func (c *claimer) batchBytes() int64 {
	return c.config.MaxBytes / int64(len(c.config.Publishers)+1)
}

// rest waits until there may be rows again. A hint ends it, but never so early
// that each of many commits would be a claim of its own.
func (c *claimer) rest(ctx context.Context, active bool) error {
	c.unhinted = false
	c.idle = min(max(2*c.idle, minIdleWait), c.maxIdle())
	if active {
		c.idle = minIdleWait
	}
	if err := sleep(ctx, minIdleWait); err != nil || c.idle == minIdleWait {
		return err
	}
	timer := time.NewTimer(jittered(c.idle - minIdleWait))
	defer timer.Stop()
	select {
	case <-timer.C:
		c.unhinted = c.idle >= maxIdleWait
	case <-c.config.Hints: // Without hints this is never ready.
		c.idle = 0
		c.hinted()
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (c *claimer) maxIdle() time.Duration {
	if c.hears() && !c.unannounced {
		return hintedIdleWait
	}
	return maxIdleWait
}

func (c *claimer) hears() bool { return c.config.Hinted != nil && c.config.Hinted() }

// silentFinds is how often in a row new rows may come without a hint: a claim can
// be a moment faster than the hint, and rows can be inserted for later.
const silentFinds = 3

// heed notices that rows come and nothing tells of them, as without the trigger: the
// listener cannot find that out, it hears what it sends itself.
func (c *claimer) heed(b event.Batch) {
	isNew := func(e event.Event) bool { return e.Attempts <= 1 }
	if !c.unhinted || !c.hears() || len(c.config.Hints) > 0 || b.Reclaimed > 0 || !slices.ContainsFunc(b.Events, isNew) {
		return
	}
	if c.silent++; c.silent == silentFinds {
		c.unannounced = true
		c.events.Announced(false)
	}
}

func (c *claimer) hinted() {
	c.silent = 0
	c.events.Hinted()
	if c.unannounced {
		c.unannounced = false
		c.events.Announced(true)
	}
}

func (c *claimer) waitForGates(ctx context.Context) error {
	for {
		if err := c.database.wait(ctx, true); err != nil {
			return err
		}
		if err := c.broker.wait(ctx, true); err != nil {
			return err
		}
		if c.database.isOpen() {
			return nil
		}
	}
}

// claim claims. A stop does not cancel it: it may have committed.
func (c *claimer) claim(ctx context.Context, ask event.Ask) (event.Batch, bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	begin := time.Now()
	c.claiming.begin(begin.Add(claimTimeout))
	defer c.claiming.end()
	b, err := c.config.Store.Claim(ctx, ask)
	if err != nil {
		c.database.fail(err)
		return event.Batch{}, false
	}
	c.database.worked()
	c.claimedOnce.Store(true)
	c.events.Claimed(b, time.Since(begin))
	return b, true
}

// handOver gives b to the next free slot, or back to the table if ctx ends first.
func (c *claimer) handOver(ctx context.Context, b event.Batch, suspects bool) {
	if len(b.Events) == 0 {
		return
	}
	t := c.hold(ctx, b, suspects)
	if ctx.Err() == nil {
		select {
		case c.claimed <- t:
			return
		case <-ctx.Done():
		}
	}
	c.giveBack(t)
}
