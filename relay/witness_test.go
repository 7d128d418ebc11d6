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

func TestABatchThatWasNeverSentIsNotSuspected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) { return allOfKind(batch, event.Unsent), errSilence }
		suspected, paused := 0, 0
		b.withSlots(1, watched(&suspected, &paused))
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		stop()
		require.Zero(t, suspected)
		require.Positive(t, paused)
		require.Less(t, paused, 20, "and the gate does not flap hotly")
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

func TestASecondWitnessIsAskedInTheRightOrder(t *testing.T) {
	batch := func(ids ...string) (b event.Batch) {
		for _, id := range ids {
			b.Events = append(b.Events, event.Event{ID: id})
		}
		return b
	}
	for name, tc := range map[string]struct {
		silent    []string
		published bool
		suspects  bool
		broken    error
		well      bool
		asked     int
	}{
		"the check decides":                             {well: true, asked: 1},
		"the check fails":                               {broken: errSilence, asked: 1},
		"other events have no answer either":            {silent: []string{"x", "y"}},
		"some of the same events have had no answer":    {silent: []string{"x", "b"}, well: true, asked: 1},
		"others had none, but something was published":  {silent: []string{"x"}, published: true, well: true, asked: 1},
		"others had none, and these are suspects alone": {silent: []string{"x"}, suspects: true, well: true, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(0)
				b.broker.set(tc.broken)
				if tc.silent != nil {
					b.relay.witness.sawSilence(batch(tc.silent...))
				}
				if tc.published {
					b.relay.witness.sawPublished()
				}
				held := &tenure{batch: batch("a", "b"), suspects: tc.suspects, end: time.Now().Add(30 * time.Second)}
				require.Equal(t, tc.well, b.relay.brokerIsWell(t.Context(), held))
				require.Equal(t, tc.asked, b.broker.count())
			})
		})
	}
}

// The broker may have gone away right after another slot has published.
func TestAnotherSlotThatHasPublishedIsNoWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(20)
		b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) {
			if batch.Events[0].ID == "0" {
				time.Sleep(time.Second)
				b.broker.set(errSilence)
				return allOfKind(batch, event.Unknown), errSilence
			}
			return allOfKind(batch, event.Published), nil
		}
		suspected, paused := 0, 0
		b.withSlots(2, watched(&suspected, &paused))
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		stop()
		sent, _, unanswered, _ := b.store.snapshot()
		require.Len(t, sent, 10)
		require.Len(t, unanswered, 10)
		require.Equal(t, []int{0, 1}, []int{suspected, paused})
	})
}

func TestOnlyAPublishedEventEndsASilence(t *testing.T) {
	for kind, ends := range map[event.OutcomeKind]bool{event.Published: true, event.Refused: false, event.Unsent: false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(1)
			b.relay.witness.sawSilence(event.Batch{})
			b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) { return allOfKind(batch, kind), nil }
			stop := b.start(t)
			time.Sleep(time.Second)
			stop()
			require.Equal(t, ends, b.relay.witness.silent == nil)
		})
	}
}

// A broker whose check passes and that answers no batch is out all the same: no
// rows are charged for it again and again.
func TestABrokerThatAnswersNothingButItsCheckIsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(200)
		b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) { return allOfKind(batch, event.Unknown), errSilence }
		suspected, paused := 0, 0
		b.withSlots(3, watched(&suspected, &paused))
		stop := b.start(t)
		time.Sleep(5 * time.Minute)
		stop()
		require.Equal(t, 1, suspected)
		require.Greater(t, paused, 5)
		require.Len(t, b.store.unanswered, 190)
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
