package relay

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
)

// bench is a relay over fakes, in a bubble where time is free.
type bench struct {
	store            *fakeStore
	publisher        *fakePublisher
	database, broker fakeCheck
	relay            *Relay
}

func newBench(rows int) *bench {
	ids := make([]string, rows)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	b := &bench{store: newFakeStore(ids...), publisher: &fakePublisher{took: time.Millisecond}}
	b.relay = New(b.config())
	return b
}

func (b *bench) config() Config {
	return Config{
		Store: b.store, Abilities: able, Publishers: []Publisher{b.publisher}, CheckDatabase: b.database.check, CheckBroker: b.broker.check,
		BatchSize: 10, Retry: testPolicy, Grace: 10 * time.Second,
	}
}

// start runs the relay; the returned function stops it and waits for its end.
func (b *bench) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.relay.Run(ctx)
	}()
	return func() { cancel(); <-ended }
}

func TestEveryRowIsPublishedAndSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(25)
		stop := b.start(t)
		time.Sleep(5 * time.Second)
		stop()
		sent, released, _, _ := b.store.snapshot()
		require.Len(t, sent, 25)
		require.Empty(t, released)
		require.True(t, b.relay.Ready())
	})
}

func TestNothingIsClaimedUntilDatabaseAndBrokerCanBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(5)
		b.broker.set(errors.New("no such topic"))
		stop := b.start(t)
		time.Sleep(time.Minute)
		_, _, _, claims := b.store.snapshot()
		require.Zero(t, claims)
		require.False(t, b.relay.Ready())
		require.Less(t, b.broker.count(), 30, "the check is not repeated hotly")

		b.broker.set(nil)
		time.Sleep(10 * time.Second)
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 5, "it goes on by itself")
		stop()
	})
}

func TestAnOutageReleasesWhatWasNotSentAndStopsClaiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(5)
		b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) {
			b.broker.set(errors.New("connection refused"))
			outcomes := allOfKind(batch, event.Unsent)
			outcomes[0].Kind = event.Unknown
			return outcomes, errors.New("connection refused")
		}
		stop := b.start(t)
		time.Sleep(time.Minute)
		sent, released, unanswered, claims := b.store.snapshot()
		require.Empty(t, sent)
		require.ElementsMatch(t, []string{"1", "2", "3", "4"}, released)
		require.Equal(t, []string{"0"}, unanswered, "kept by its lease, its attempt given back")
		require.LessOrEqual(t, claims, 3, "no claim while the broker is out")

		b.publisher.mu.Lock()
		b.publisher.answer = nil
		b.publisher.mu.Unlock()
		b.broker.set(nil)
		time.Sleep(10 * time.Second)
		sent, _, _, _ = b.store.snapshot()
		require.ElementsMatch(t, []string{"1", "2", "3", "4"}, sent)
		stop()
	})
}

func TestASettleIsRepeatedUntilItIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		b.store.settleErr = []error{errors.New("reset"), errors.New("reset"), errors.New("reset")}
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		stop()
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 3)
	})
}

func TestASettleThatCannotBeDoneIsLeftToTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		for range 1000 {
			b.store.settleErr = append(b.store.settleErr, errors.New("down"))
		}
		abandoned, begin := 0, time.Now()
		var after time.Duration
		c := b.config()
		c.Events = Events{Abandoned: func(_ event.Batch, rows int, _ error) { abandoned, after = rows, time.Since(begin) }}
		b.relay = New(c)
		stop := b.start(t)
		time.Sleep(40 * time.Second)
		stop()
		require.Equal(t, 3, abandoned)
		require.Equal(t, b.store.lease, after, "somebody else may have the rows from then on")
		sent, released, _, _ := b.store.snapshot()
		require.Empty(t, sent)
		require.Empty(t, released)
	})
}

func TestARelayThatWasFrozenBeyondItsLeaseLearnsWhatBecameOfItsRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) {
			time.Sleep(2 * batch.Lease)
			return allOfKind(batch, event.Published), nil
		}
		stale, paused := 0, 0
		c := b.config()
		c.Events = Events{
			Settled: func(_ event.Batch, done event.Settled, _ time.Duration) { stale += done.Stale },
			Paused:  func(Subject, error) { paused++ },
		}
		b.relay = New(c)
		stop := b.start(t)
		time.Sleep(2 * time.Minute)
		stop()
		require.Equal(t, 3, stale, "the guard refuses them, and they are counted")
		require.Zero(t, paused, "the database is not to blame")
	})
}

func TestAnotherReasonForAPauseIsNewsAndTheSameOneIsNot(t *testing.T) {
	var told []error
	g := newGate(Database, Tee(Events{Paused: func(_ Subject, err error) { told = append(told, err) }}))
	away := &outbox.Problem{Code: outbox.Unreachable, Err: errors.New("refused")}
	wrong := &outbox.Problem{Code: outbox.AuthenticationFailed, Err: errors.New("wrong password")}
	for _, err := range []error{away, away, wrong, wrong, away} {
		g.fail(err)
	}
	require.Equal(t, []error{away, wrong, away}, told)
	g.pass()
	g.fail(away)
	require.Len(t, told, 4)
}

func TestAClaimThatFailsAlthoughTheCheckPassesIsNotRepeatedHotly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		for range 100_000 {
			b.store.claimErr = append(b.store.claimErr, errors.New("a trigger raises"))
		}
		stop := b.start(t)
		time.Sleep(time.Minute)
		stop()
		_, _, _, claims := b.store.snapshot()
		require.Less(t, claims, 40)
		require.Greater(t, claims, 5)
	})
}

func TestAStopReleasesWhatNoSlotHasBegunAndEndsWhatOneHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(30)
		b.publisher.took = 3 * time.Second
		stop := b.start(t)
		time.Sleep(time.Second) // One batch is being sent, one is claimed and waits.
		begin := time.Now()
		stop()
		require.Less(t, time.Since(begin), 4*time.Second)
		sent, released, _, _ := b.store.snapshot()
		require.Len(t, sent, 10)
		require.Len(t, released, 10)
	})
}

// What the broker has acknowledged is worth a few tries more after the grace.
func TestTheLastSettleOfAStopIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		b.publisher.took = time.Hour
		failing := errors.New("reset")
		b.store.releaseErr = []error{failing, failing, failing}
		stop := b.start(t)
		time.Sleep(time.Second)
		stop() // The grace ends the sends, and with them the context of all work.
		_, _, unanswered, _ := b.store.snapshot()
		require.Len(t, unanswered, 10, "their attempts are given back at the fourth try")
	})
}

func TestAStopEndsEvenWhenTheBrokerNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		b.publisher.took = time.Hour
		stop := b.start(t)
		time.Sleep(time.Second)
		begin := time.Now()
		stop()
		require.LessOrEqual(t, time.Since(begin), 10*time.Second+SettleGrace)
		_, _, unanswered, _ := b.store.snapshot()
		require.Len(t, unanswered, 10)
	})
}

func TestTheWrongNumberOfOutcomesSettlesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		b.publisher.answer = func(event.Batch) ([]event.Outcome, error) {
			b.broker.set(errors.New("stay closed"))
			return []event.Outcome{{Kind: event.Published}}, nil
		}
		stop := b.start(t)
		time.Sleep(5 * time.Second)
		stop()
		sent, _, unanswered, _ := b.store.snapshot()
		require.Empty(t, sent)
		require.Len(t, unanswered, 3)
	})
}

func TestAnIdleRelayAsksEverMoreSeldomAndAgainAtOnceAfterWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0)
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		stop()
		_, _, _, claims := b.store.snapshot()
		require.Less(t, claims, 100)
		require.Greater(t, claims, 50)
	})
}

func TestAnOutageThatIsOverIsForgottenByTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(5)
		failures := 3
		b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) {
			if failures--; failures >= 0 {
				return allOfKind(batch, event.Unsent), errors.New("away")
			}
			return allOfKind(batch, event.Published), nil
		}
		stop := b.start(t)
		time.Sleep(10 * time.Second)
		stop()
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 5)
		require.Zero(t, b.relay.broker.mu.failures, "the next one is probed at once")
	})
}
