package relay

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/report"
)

// withSlots gives the relay more slots, all like the first.
func (b *bench) withSlots(n int, change func(*Config)) {
	c := b.config()
	for range n - 1 {
		c.Publishers = append(c.Publishers, b.publisher)
	}
	if change != nil {
		change(&c)
	}
	b.relay = New(c)
}

func TestSuspectsAreAloneInTheirRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(60)
		b.store.suspects = []string{"s1", "s2", "s3"}
		b.publisher.took = time.Second
		inFlight, alone := 0, true
		b.publisher.during = func(batch event.Batch, begin bool) {
			if begin {
				inFlight++
			}
			if batch.Events[0].ID[0] == 's' {
				alone = alone && inFlight == 1
			}
			if !begin {
				inFlight--
			}
		}
		b.withSlots(3, nil)
		stop := b.start(t)
		time.Sleep(time.Minute)
		stop()
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 63)
		require.True(t, alone)
		require.Equal(t, testPolicy.MaxAttempts, b.store.asked[1].MaxAttempts)
	})
}

func TestBetweenTwoClaimsForSuspectsThereIsAnOrdinaryOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1000)
		for i := range 200 {
			b.store.suspects = append(b.store.suspects, "s"+strconv.Itoa(i))
		}
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		stop()
		for i, ask := range b.store.asked {
			suspectsLeft := i < 40
			require.Equal(t, suspectsLeft && i%2 == 1, ask.Suspects, "claim %d", i)
		}
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 1200)
	})
}

func TestSuspectsThatAnotherRelayTookAreNotAskedForHotly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0)
		b.store.othersSuspects = true
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		stop()
		suspects := 0
		for _, ask := range b.store.asked {
			if ask.Suspects {
				suspects++
			}
		}
		require.LessOrEqual(t, suspects, 11)
		require.Greater(t, suspects, 5)
		require.Less(t, len(b.store.asked), 200)
	})
}

func TestAStopDoesNotWaitForSuspects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		b.store.suspects = []string{"s"}
		b.publisher.took = 5 * time.Second
		stop := b.start(t)
		time.Sleep(time.Second) // The claimer waits for the first batch to end.
		begin := time.Now()
		stop()
		require.Less(t, time.Since(begin), 6*time.Second)
		require.Equal(t, []string{"s"}, b.store.suspects, "not claimed")
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 10)
	})
}

func TestNoSuspectIsClaimedDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		b.store.suspects = []string{"s"}
		b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) {
			b.broker.set(errors.New("away"))
			return allOfKind(batch, event.Unsent), errors.New("away")
		}
		stop := b.start(t)
		time.Sleep(time.Minute)
		stop()
		require.Equal(t, []string{"s"}, b.store.suspects)
	})
}

func TestAbandonedEventsAreReported(t *testing.T) {
	tracker := NewTracker(report.Report{}, 10)
	tracker.Events().Claimed(event.Batch{Abandoned: 2}, time.Millisecond)
	require.EqualValues(t, 2, tracker.Report().Rates.Abandoned)
}
