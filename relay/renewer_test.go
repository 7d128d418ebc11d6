package relay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
)

// sending runs a relay whose one batch takes so long to send, until it is settled
// or a while has passed. It returns how long the send took.
func sending(t *testing.T, b *bench, took time.Duration, change func(*Config)) (sent time.Duration) {
	t.Helper()
	b.publisher.took = took
	c := b.config()
	c.MaxClaim = 4 * b.store.lease
	c.Events.Published = func(_ event.Batch, _ []event.Outcome, d time.Duration, _ error) { sent = d }
	if change != nil {
		change(&c)
	}
	b.relay = New(c)
	stop := b.start(t)
	time.Sleep(3 * time.Minute)
	stop()
	return sent
}

func TestAClaimIsRenewedAsLongAsItsBatchIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		sending(t, b, 80*time.Second, nil)
		sent, _, _, claims := b.store.snapshot()
		require.Len(t, sent, 3, "sent in more than twice its lease, and recorded")
		require.InDelta(t, 8, b.store.renewed, 1, "a renewal at each third of the lease")
		require.Greater(t, claims, 1)
	})
}

func TestNoClaimOutlivesMaxClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		begin := time.Now()
		sent := sending(t, b, time.Hour, nil)
		require.Less(t, sent, 115*time.Second, "cut at the margin of the last lease")
		require.Greater(t, sent, 95*time.Second)
		for _, end := range b.store.held {
			require.LessOrEqual(t, end.Sub(begin), 120*time.Second+time.Second)
		}
	})
}

func TestALostClaimEndsItsSendsAndNobodyIsBlamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		b.store.renew = func(context.Context) (event.Settled, error) { return event.Settled{Renewed: 2, Stale: 1}, nil }
		blamed := 0
		sent := sending(t, b, time.Hour, func(c *Config) {
			c.Events.Paused = func(Subject, error) { blamed++ }
			c.Events.Suspected = func(event.Batch, error) { blamed++ }
		})
		require.InDelta(t, 10, sent.Seconds(), 2, "at the first renewal")
		require.Zero(t, blamed)
		require.Equal(t, 1, b.store.renewed)
		require.Len(t, b.store.unanswered, 3, "no attempt is burnt")
	})
}

func TestRowsThatAreDoneDoNotEndTheSendsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		b.store.renew = func(context.Context) (event.Settled, error) {
			return event.Settled{Renewed: 1, AlreadyMine: 1, Overtaken: 1}, nil
		}
		sent := sending(t, b, 60*time.Second, nil)
		require.Equal(t, 60*time.Second, sent)
	})
}

func TestARenewalThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		for range 20 {
			b.store.renewErr = append(b.store.renewErr, errors.New("reset"))
		}
		sent := sending(t, b, 60*time.Second, nil)
		require.Equal(t, 60*time.Second, sent)
	})
}

func TestSendsEndWhenNoRenewalSucceedsUntilTheMargin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		b.store.renew = func(context.Context) (event.Settled, error) { return event.Settled{}, errors.New("reset") }
		sent := sending(t, b, time.Hour, nil)
		require.Equal(t, 25*time.Second, sent)
	})
}

// The server's lease may begin when a renewal is sent; the relay's must not begin
// when the answer comes.
func TestARenewedLeaseCountsFromBeforeTheRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		calls := 0
		b.store.renew = func(context.Context) (event.Settled, error) {
			if calls++; calls > 1 {
				return event.Settled{}, errors.New("reset")
			}
			time.Sleep(4 * time.Second)
			return event.Settled{Renewed: 3}, nil
		}
		sent := sending(t, b, time.Hour, nil)
		require.InDelta(t, 10+25, sent.Seconds(), 1, "begun after 10 s, and cut at the margin of that lease")
	})
}

func TestARenewalWithoutAnAnswerDelaysNoSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		b.store.renew = func(ctx context.Context) (event.Settled, error) {
			<-ctx.Done()
			time.Sleep(time.Millisecond) // It ends a little later than it is told to.
			return event.Settled{}, ctx.Err()
		}
		paused := 0
		sending(t, b, 15*time.Second, func(c *Config) { c.Events.Paused = func(Subject, error) { paused++ } })
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 3)
		require.False(t, b.store.contended, "a settle waits for the end of the renewal")
		require.Zero(t, paused, "who gives up himself blames nobody")
	})
}

func TestABatchThatWaitsForASlotOrItsSettleIsRenewedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(20)
		sending(t, b, 40*time.Second, nil)
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 20, "the second batch waited longer than its lease")
	})
}

func TestAStopEndsNoRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		b.store.lease = 5 * time.Second
		b.publisher.took = 9 * time.Second
		c := b.config()
		c.MaxClaim = 20 * time.Second
		b.relay = New(c)
		stop := b.start(t)
		time.Sleep(time.Second)
		stop()
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 3, "they were sent in the grace, which is longer than the lease")
	})
}

func TestASettleHasUntilTheEndOfTheRenewedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(3)
		b.store.lease = 10 * time.Second
		for range 6 { // Together more than the last look of a settle that is too late.
			b.store.settleErr = append(b.store.settleErr, errors.New("reset"))
		}
		sending(t, b, 15*time.Second, nil)
		sent, _, _, _ := b.store.snapshot()
		require.Len(t, sent, 3)
	})
}
