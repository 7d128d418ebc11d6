package event

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestADeadlineThatIsExtendedEndsItsContextsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		d := NewDeadline(begin.Add(10 * time.Second))
		ctx, cancel := d.Context(t.Context())
		defer cancel()
		time.Sleep(5 * time.Second)
		d.Extend(begin.Add(20 * time.Second))
		<-ctx.Done()
		require.Equal(t, 20*time.Second, time.Since(begin))
		require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
		d.Extend(begin.Add(time.Hour))
		require.True(t, d.Passed(), "what has passed does not come back")
	})
}

func TestACutEndsADeadlineAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDeadline(time.Now().Add(time.Hour))
		ctx, cancel := d.Context(t.Context())
		defer cancel()
		require.False(t, d.Passed())
		d.Cut()
		<-ctx.Done()
		require.True(t, d.Passed())
		require.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
	})
}

func TestAContextOfADeadlineEndsWithItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, end := context.WithCancel(t.Context())
		ctx, cancel := NewDeadline(time.Now().Add(time.Hour)).Context(parent)
		defer cancel()
		end()
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), context.Canceled)
	})
}

// shifted is t with another time on the wall clock and the same on the monotonic
// one, as after somebody has set the clock, or the machine was suspended. Package
// time has no way to make one; its layout is checked by what comes out.
func shifted(t *testing.T, at time.Time, by time.Duration) time.Time {
	t.Helper()
	const secondsShift = 30 // Of the word that holds flag, seconds and nanoseconds.
	before := at
	*(*uint64)(unsafe.Pointer(&at)) += uint64(int64(by.Seconds()) << secondsShift)
	require.Zero(t, at.Sub(before), "the monotonic clock")
	require.Equal(t, by, at.Round(0).Sub(before.Round(0)), "the wall clock")
	return at
}

func TestEitherClockAloneEndsADeadline(t *testing.T) {
	now := time.Now()
	require.True(t, NewDeadline(shifted(t, now.Add(time.Hour), -2*time.Hour)).Passed(), "the machine was suspended")
	require.True(t, NewDeadline(shifted(t, now.Add(-time.Hour), 2*time.Hour)).Passed(), "the clock was set back")
	require.False(t, NewDeadline(shifted(t, now.Add(time.Hour), time.Hour)).Passed())
}

func TestADeadlineHasPassedWhenOneClockSaysSo(t *testing.T) {
	now := time.Now()
	require.False(t, NewDeadline(now.Add(time.Hour)).Passed())
	require.True(t, NewDeadline(now.Add(-time.Nanosecond)).Passed())
	require.True(t, NewDeadline(time.Time{}).Passed())
	require.True(t, NewDeadline(now.Add(-time.Second).Round(0)).Passed(), "the wall clock alone must do")
}
