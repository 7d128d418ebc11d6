package event

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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

func TestADeadlineHasPassedWhenOneClockSaysSo(t *testing.T) {
	now := time.Now()
	require.False(t, NewDeadline(now.Add(time.Hour)).Passed())
	require.True(t, NewDeadline(now.Add(-time.Nanosecond)).Passed())
	require.True(t, NewDeadline(time.Time{}).Passed())
	require.True(t, NewDeadline(now.Add(-time.Second).Round(0)).Passed(), "the wall clock alone must do")
}
