package relay

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
)

var errSilence = errors.New("no answer")

// silentAbout makes the broker give no answer for batches with an event of this id.
func silentAbout(id string) func(event.Batch) ([]event.Outcome, error) {
	return func(b event.Batch) ([]event.Outcome, error) {
		for _, e := range b.Events {
			if e.ID == id {
				return allOfKind(b, event.Unknown), errSilence
			}
		}
		return allOfKind(b, event.Published), nil
	}
}

// watched counts suspicions and pauses of the broker.
func watched(suspected, paused *int) func(*Config) {
	return func(c *Config) {
		c.Events.Suspected = func(event.Batch, error) { *suspected++ }
		c.Events.Paused = func(Subject, error) { *paused++ }
	}
}

func TestABatchWithoutAnAnswerIsSuspectedWhenTheBrokerIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(40)
		b.publisher.answer = silentAbout("0")
		suspected, paused := 0, 0
		b.withSlots(3, watched(&suspected, &paused))
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		stop()
		sent, released, unanswered, _ := b.store.snapshot()
		require.Len(t, sent, 30, "the other batches go on")
		require.Empty(t, unanswered, "its attempts stay charged")
		require.Empty(t, released)
		require.Equal(t, []int{1, 0}, []int{suspected, paused})
	})
}

func TestTheUnsentRowsOfASuspectedBatchAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		first := true
		b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) {
			outcomes := allOfKind(batch, event.Published)
			if !first {
				return outcomes, nil
			}
			first = false
			outcomes[0].Kind, outcomes[1].Kind = event.Unknown, event.Unsent
			return outcomes, errSilence
		}
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		stop()
		sent, released, unanswered, _ := b.store.snapshot()
		require.Len(t, sent, 9)
		require.Equal(t, []string{"1"}, released)
		require.Empty(t, unanswered)
	})
}

func TestAnOutageNeedsTheCheckToFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) {
			b.broker.set(errSilence)
			return allOfKind(batch, event.Unknown), errSilence
		}
		suspected, paused := 0, 0
		b.withSlots(3, watched(&suspected, &paused))
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		stop()
		_, _, unanswered, _ := b.store.snapshot()
		require.Len(t, unanswered, 10, "attempts are given back")
		require.Equal(t, []int{0, 1}, []int{suspected, paused})
	})
}

func TestACheckThatTakesTooLongIsNoWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		b.store.lease = 10 * time.Second
		b.publisher.took = 7 * time.Second
		b.publisher.answer = silentAbout("0")
		b.broker.hangsAfter = 1
		suspected, paused := 0, 0
		b.withSlots(1, watched(&suspected, &paused))
		stop := b.start(t)
		time.Sleep(9500 * time.Millisecond)
		_, _, unanswered, _ := b.store.snapshot()
		stop()
		require.Len(t, unanswered, 10, "in time: before the lease ends")
		require.Equal(t, []int{0, 1}, []int{suspected, paused})
	})
}

func TestAnotherSlotIsAWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0)
		b.broker.set(errSilence)
		r := b.relay
		begin := time.Now()
		held := &tenure{end: begin.Add(30 * time.Second)}
		require.False(t, r.brokerIsWell(t.Context(), held, begin))
		time.Sleep(time.Second)
		r.lastPublished.Store(new(time.Now()))
		require.True(t, r.brokerIsWell(t.Context(), held, begin))
		require.False(t, r.brokerIsWell(t.Context(), held, time.Now()), "what was published before says nothing")
	})
}

func TestOnlyAPublishedEventMakesASlotAWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) { return allOfKind(batch, event.Refused), nil }
		stop := b.start(t)
		time.Sleep(time.Second)
		stop()
		require.Nil(t, b.relay.lastPublished.Load())
	})
}

func TestALoneEventWithoutAnAnswerFailsWhenItsAttemptsAreUsedUp(t *testing.T) {
	for name, tc := range map[string]struct {
		attempts int
		broken   error
		failed   int
		charged  bool
	}{
		"used up":           {3, nil, 1, false},
		"not yet":           {2, nil, 0, true},
		"broker not well":   {3, errSilence, 0, false},
		"more than used up": {7, nil, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(0)
				b.store.suspects = []string{"poison"}
				b.store.attempts = tc.attempts
				b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) {
					b.broker.set(tc.broken)
					return allOfKind(batch, event.Unknown), errSilence
				}
				stop := b.start(t)
				time.Sleep(10 * time.Second)
				stop()
				require.Len(t, b.store.failed, tc.failed)
				if tc.failed == 1 {
					require.Contains(t, b.store.failed["poison"], "may have been published")
				}
				require.Equal(t, tc.charged, len(b.store.failed) == 0 && len(b.store.unanswered) == 0)
			})
		})
	}
}
