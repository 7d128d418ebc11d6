package relay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/report"
)

func TestArrivalsAreCountedBetweenTwoLooks(t *testing.T) {
	now := time.Now()
	look := func(inserted int64, at time.Duration) event.Backlog {
		return event.Backlog{Inserted: inserted, SampledAt: now.Add(at)}
	}
	first := look(100, 0)
	for name, tc := range map[string]struct {
		before *event.Backlog
		now    event.Backlog
		want   *float64
	}{
		"the first look":           {nil, look(100, 0), nil},
		"ten in five seconds":      {&first, look(110, 5*time.Second), new(120.0)},
		"none":                     {&first, look(100, 5*time.Second), new(0.0)},
		"statistics were reset":    {&first, look(99, 5*time.Second), nil},
		"the server's clock stood": {&first, look(110, 0), nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, arrivals(tc.before, tc.now)) })
	}
}

func TestAReportCountsTheLastMinuteByKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := NewTracker(report.Report{}, 2)
		told := tracker.Events()
		tell := func() {
			told.Claimed(event.Batch{Events: make([]event.Event, 2), Reclaimed: 1}, 3*time.Millisecond)
			told.Published(event.Batch{}, nil, 80*time.Millisecond, nil)
			told.Suspected(event.Batch{}, nil)
			told.Renewed(event.Settled{Renewed: 9, Stale: 1})
			told.Settled(event.Batch{}, event.Settled{
				Sent: 1, Retried: 2, Failed: 3, Released: 4, AlreadyMine: 5, Overtaken: 6, Stale: 7,
			}, 900*time.Microsecond)
		}
		tell()
		r := tracker.Report()
		require.Equal(t, report.Rates{
			Published: 1, Retried: 2, Failed: 3, Released: 4, Reclaimed: 1, Stale: 8, Overtaken: 6, AlreadyMine: 5,
			Suspected: 1, Batches: 1, FullBatches: 1,
		}, r.Rates)
		require.Equal(t, report.Latencies{
			ClaimMillis: &report.Latency{P50: 3, P99: 3, Max: 3}, SendMillis: &report.Latency{P50: 80, P99: 80, Max: 80},
			SettleMillis: &report.Latency{P50: 1, P99: 1, Max: 1},
		}, r.Latencies)
		time.Sleep(62 * time.Second)
		require.Equal(t, report.Rates{}, tracker.Report().Rates)
		require.Equal(t, report.Latencies{}, tracker.Report().Latencies)
	})
}

func TestPercentilesAreNeverTooSmallAndNotMuchTooLarge(t *testing.T) {
	var all spans
	for i := 1; i <= 1000; i++ {
		s := span(time.Duration(i) * time.Millisecond)
		all.add(&s)
	}
	got := all.latency()
	require.GreaterOrEqual(t, got.P50, int64(500))
	require.LessOrEqual(t, got.P50, int64(667))
	require.GreaterOrEqual(t, got.P99, int64(990))
	require.LessOrEqual(t, got.P99, int64(1000), "never more than the worst")
	require.EqualValues(t, 1000, got.Max)
	long := span(time.Hour)
	require.EqualValues(t, 3_600_000, long.latency().P50)
}
