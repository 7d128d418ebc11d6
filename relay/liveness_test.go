package relay

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
)

func TestAnOutageOrAnIdleTableIsNoReasonToRestartARelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0)
		stop := b.start(t)
		time.Sleep(time.Hour)
		require.True(t, b.relay.Live())
		b.broker.set(errors.New("away"))
		b.database.set(errors.New("away"))
		b.relay.database.fail(errors.New("away"))
		b.relay.broker.fail(errors.New("away"))
		time.Sleep(time.Hour)
		require.True(t, b.relay.Live())
		stop()
	})
}

func TestALongSendWithinItsBoundIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(10)
		b.publisher.took = time.Hour
		c := b.config()
		c.MaxClaim = 2 * time.Minute
		b.relay = New(c)
		stop := b.start(t)
		for range 300 {
			time.Sleep(time.Second)
			require.True(t, b.relay.Live())
		}
		stop()
	})
}

func TestARelayIsNotAliveWhen(t *testing.T) {
	for name, tc := range map[string]struct {
		hang  func(b *bench, release chan struct{})
		bound time.Duration
	}{
		"a claim hangs": {func(b *bench, release chan struct{}) { b.store.hang = release }, claimTimeout + stuckAfter},
		"a slot hangs": {func(b *bench, release chan struct{}) {
			b.publisher.answer = func(batch event.Batch) ([]event.Outcome, error) {
				<-release
				return allOfKind(batch, event.Unsent), nil
			}
		}, 30*time.Second + stuckAfter},
		"a settler hangs": {func(b *bench, release chan struct{}) {
			c := b.config()
			c.Events.Settled = func(event.Batch, event.Settled, time.Duration) { <-release }
			b.relay = New(c)
		}, 30*time.Second + lastLook + SettleGrace + stuckAfter},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(10)
				release := make(chan struct{})
				tc.hang(b, release)
				stop := b.start(t)
				time.Sleep(tc.bound - time.Second)
				require.True(t, b.relay.Live())
				time.Sleep(2 * time.Second)
				require.False(t, b.relay.Live())
				close(release)
				time.Sleep(time.Second)
				require.True(t, b.relay.Live(), "it moves again")
				stop()
			})
		})
	}
}
