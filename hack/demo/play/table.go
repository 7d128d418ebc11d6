package play

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/test/load"
)

// every is how often the live table has a new line.
const every = 2 * time.Second

// liveTable shows the state of the play, line by line.
type liveTable struct {
	w     io.Writer
	shop  *shop
	began time.Time

	mu struct {
		sync.Mutex
		act   string
		grown int
		last  load.Sample
	}
}

func newLiveTable(w io.Writer, s *shop) *liveTable {
	return &liveTable{w: w, shop: s, began: time.Now()}
}

// say names the act that begins.
func (t *liveTable) say(act string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.act = act
	fmt.Fprintf(t.w, "-- %s\n", act)
}

// grown is the most relays that were seen ready at once.
func (t *liveTable) grown() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.grown
}

// run writes lines until ctx ends.
func (t *liveTable) run(ctx context.Context) {
	fmt.Fprintf(t.w, "%5s %6s %7s %12s %10s %10s %8s %11s %5s  %s\n",
		"time", "lag", "relays", "published/s", "committed", "received", "unsent", "duplicates", "lost", "decision")
	live := load.NewLive(t.shop.tables)
	for {
		if err := t.line(ctx, live); err != nil && ctx.Err() == nil {
			fmt.Fprintf(t.w, "      (%v)\n", err)
		}
		if sleep(ctx, every) != nil {
			return
		}
	}
}

func (t *liveTable) line(ctx context.Context, live *load.Live) error {
	sample, err := live.Sample(ctx)
	if err != nil {
		return err
	}
	f, err := t.shop.fleet(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.last = sample
	t.mu.grown = max(t.mu.grown, f.Status.ReadyReplicas)
	fmt.Fprintf(t.w, "%4.0fs %6s %7s %12.0f %10d %10d %8d %11d %5d  %s\n",
		time.Since(t.began).Seconds(), f.lag(), fmt.Sprintf("%d/%d", f.Status.ReadyReplicas, f.Status.Scaling.DesiredReplicas),
		sample.PerSecond, sample.Committed, sample.Received, sample.Unsent, sample.Duplicates, sample.Lost, f.Status.Scaling.Reason)
	return nil
}

// awaitDrained waits until nothing but the newest events is unsent.
func (t *liveTable) awaitDrained(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if err := sleep(ctx, every); err != nil {
			return fmt.Errorf("drain the burst: %d rows are still unsent after %s", t.unsent(), limit)
		}
		if t.unsent() < 1000 {
			return nil
		}
	}
}

func (t *liveTable) unsent() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.last.Unsent
}
