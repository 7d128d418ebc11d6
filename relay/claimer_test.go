package relay

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
)

func TestPayloadsNeverExceedTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const budget = 40 << 10
		b := newBench(500)
		b.store.payload = 1 << 10
		b.publisher.took = 50 * time.Millisecond
		var most int64
		events := -1
		b.withSlots(3, func(c *Config) {
			c.MaxBytes = budget
			c.Events.Holding = func(n int, bytes int64) { events, most = n, max(most, bytes) }
		})
		stop := b.start(t)
		time.Sleep(30 * time.Second)
		stop()
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 500)
		require.LessOrEqual(t, most, int64(budget))
		require.Greater(t, most, int64(budget/2), "and it is used")
		require.Zero(t, events)
		require.EqualValues(t, budget/4, b.store.asked[0].Bytes)
	})
}

func TestASettlerKeepsNoPayloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		b.store.payload = 100
		kept := 0
		c := b.config()
		c.Events.Settled = func(batch event.Batch, _ event.Settled, _ time.Duration) {
			for _, e := range batch.Events {
				kept += len(e.Payload)
			}
		}
		b.relay = New(c)
		stop := b.start(t)
		time.Sleep(time.Second)
		stop()
		require.Zero(t, kept)
	})
}

func TestAFullBatchIsFollowedByAnotherAtOnceAndAPartOneSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(95)
		b.publisher.took = 0
		var at []time.Time
		c := b.config()
		c.Events.Claimed = func(event.Batch, time.Duration) { at = append(at, time.Now()) }
		b.relay = New(c)
		stop := b.start(t)
		time.Sleep(time.Second)
		stop()
		require.Less(t, at[9].Sub(at[0]), time.Millisecond, "nine full ones and the part one")
		rest := at[10].Sub(at[9])
		require.GreaterOrEqual(t, rest, 2*time.Millisecond)
		require.LessOrEqual(t, rest, 5*time.Millisecond)
	})
}

func TestAHintEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0)
		hints := make(chan struct{}, 1)
		var working atomic.Bool
		working.Store(true)
		c := b.config()
		c.Hints, c.Hinted = hints, working.Load
		b.relay = New(c)
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		_, _, _, before := b.store.snapshot()
		require.Less(t, before, 25, "a relay that hears hints asks once a second")

		b.store.mu.Lock()
		b.store.ready = []string{"new"}
		b.store.mu.Unlock()
		hints <- struct{}{}
		time.Sleep(10 * time.Millisecond)
		sent, _, _, _ := b.store.snapshot()
		require.Equal(t, []string{"new"}, sent)

		working.Store(false)
		_, _, _, before = b.store.snapshot()
		time.Sleep(10 * time.Second)
		_, _, _, after := b.store.snapshot()
		require.Greater(t, after-before, 50, "and one that hears nothing as often as ever")
		stop()
	})
}

// Rows come, and no hint tells of them, as without a trigger: after a few the table
// is asked as often as without hints, until there is one.
func TestRowsThatNoHintTellsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0)
		hints := make(chan struct{}, 1)
		var announced []bool
		var hinted int
		c := b.config()
		c.Hints, c.Hinted = hints, func() bool { return true }
		c.Events.Announced = func(yes bool) { announced = append(announced, yes) }
		c.Events.Hinted = func() { hinted++ }
		b.relay = New(c)
		stop := b.start(t)
		insert := func(id string) {
			b.store.mu.Lock()
			b.store.ready = []string{id}
			b.store.mu.Unlock()
		}
		claims := func() int {
			_, _, _, before := b.store.snapshot()
			time.Sleep(10 * time.Second)
			_, _, _, after := b.store.snapshot()
			return after - before
		}
		for i := range silentFinds {
			require.Empty(t, announced)
			require.Less(t, claims(), 25)
			insert(fmt.Sprint("silent ", i))
			time.Sleep(2 * time.Second)
		}
		require.Equal(t, []bool{false}, announced)
		require.Greater(t, claims(), 50)

		insert("announced")
		hints <- struct{}{}
		require.Less(t, claims(), 30)
		require.Equal(t, []bool{false, true}, announced)
		require.Equal(t, 1, hinted)
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, silentFinds+1)
		stop()
	})
}

func TestHintsDoNotMakeAClaimOfEveryCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0)
		hints := make(chan struct{})
		close(hints) // There is always one more.
		c := b.config()
		c.Hints = hints
		b.relay = New(c)
		stop := b.start(t)
		time.Sleep(time.Second)
		stop()
		_, _, _, claims := b.store.snapshot()
		require.Less(t, claims, 400)
		require.Greater(t, claims, 200)
	})
}

func TestAClaimUnderWayAtAStopIsAwaitedAndItsRowsGivenBack(t *testing.T) {
	for range 10 { // A slot is free, and must never be preferred.
		synctest.Test(t, func(t *testing.T) {
			b := newBench(10)
			b.store.claimTakes = time.Second
			held := -1
			c := b.config()
			c.Events.Holding = func(events int, _ int64) { held = events }
			b.relay = New(c)
			stop := b.start(t)
			time.Sleep(500 * time.Millisecond)
			stop()
			require.Zero(t, held)
			sent, released, _, _ := b.store.snapshot()
			require.Empty(t, sent)
			require.Len(t, released, 10, "its rows wait for nobody")
		})
	}
}

func TestAfterActivityTheTableIsAskedSoonAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0)
		b.publisher.took = 0
		var found, next time.Time
		c := b.config()
		c.Events.Claimed = func(batch event.Batch, _ time.Duration) {
			switch {
			case len(batch.Events) > 0:
				found = time.Now()
			case !found.IsZero() && next.IsZero():
				next = time.Now()
			}
		}
		b.relay = New(c)
		stop := b.start(t)
		time.Sleep(10 * time.Second) // Idle: it asks ever more seldom.
		b.store.mu.Lock()
		b.store.ready = []string{"new"}
		b.store.mu.Unlock()
		time.Sleep(time.Second)
		stop()
		require.LessOrEqual(t, next.Sub(found), 5*time.Millisecond)
	})
}

func TestAStopIsNotHeldUpByADatabaseThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(20)
		b.store.lease = time.Hour
		b.publisher.took = 2 * time.Second
		stop := b.start(t)
		time.Sleep(time.Second)
		b.store.mu.Lock()
		b.store.away = true
		b.store.mu.Unlock()
		begin := time.Now()
		stop()
		require.LessOrEqual(t, time.Since(begin), 10*time.Second+SettleGrace+time.Second)
	})
}

func TestInOrderedModeNoReleaseMovesADueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ordered := range []bool{false, true} {
			b := newBench(20)
			b.publisher.took = 3 * time.Second
			c := b.config()
			c.Ordered = ordered
			b.relay = New(c)
			stop := b.start(t)
			time.Sleep(time.Second)
			stop()
			want := event.Stopping
			if ordered {
				want = event.Outage
			}
			require.Equal(t, []event.ReleaseCause{want}, b.store.causes)
		}
	})
}
