package relay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetentionGoesOnUntilNothingIsLeftAndBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, rounds := 5, 0
		r := New(Config{Purge: func(context.Context) (int, bool, error) {
			rounds++
			if left == 0 {
				return 0, false, nil
			}
			left--
			return 1, left > 0, nil
		}})
		r.database.pass()
		ctx, cancel := context.WithCancel(t.Context())
		go r.retain(ctx)
		time.Sleep(2 * purgeEvery)
		require.Zero(t, left)
		before := rounds
		left = 2
		time.Sleep(2 * purgeEvery)
		require.Zero(t, left)
		require.Greater(t, rounds, before)
		cancel()
		synctest.Wait()
	})
}

func TestRetentionThatFailsIsToldAndTriedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, told := 0, 0
		r := New(Config{
			Purge:  func(context.Context) (int, bool, error) { tries++; return 0, true, errors.New("no grant") },
			Events: Events{Warned: func(string, error) { told++ }},
		})
		r.database.pass()
		ctx, cancel := context.WithCancel(t.Context())
		go r.retain(ctx)
		time.Sleep(10 * purgeEvery)
		require.InDelta(t, 10, tries, 2, "not hotly")
		require.Equal(t, tries, told)
		cancel()
		synctest.Wait()
	})
}
