package relay

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetentionGoesOnUntilNothingIsLeftAndBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left, rounds atomic.Int64
		left.Store(5)
		r := New(Config{Purge: func(context.Context) (int, bool, error) {
			rounds.Add(1)
			if left.Load() == 0 {
				return 0, false, nil
			}
			return 1, left.Add(-1) > 0, nil
		}})
		r.database.pass()
		ctx, cancel := context.WithCancel(t.Context())
		go r.retain(ctx)
		time.Sleep(2 * purgeEvery)
		require.Zero(t, left.Load())
		before := rounds.Load()
		left.Store(2)
		time.Sleep(2 * purgeEvery)
		require.Zero(t, left.Load())
		require.Greater(t, rounds.Load(), before)
		cancel()
		synctest.Wait()
	})
}

func TestRetentionThatFailsIsToldAndTriedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries, told atomic.Int64
		r := New(Config{
			Purge:  func(context.Context) (int, bool, error) { tries.Add(1); return 0, true, errors.New("no grant") },
			Events: Events{Warned: func(string, error) { told.Add(1) }},
		})
		r.database.pass()
		ctx, cancel := context.WithCancel(t.Context())
		go r.retain(ctx)
		time.Sleep(10 * purgeEvery)
		require.InDelta(t, 10, tries.Load(), 2, "not hotly")
		require.Equal(t, tries.Load(), told.Load())
		cancel()
		synctest.Wait()
	})
}
