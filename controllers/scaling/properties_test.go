package scaling

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawSeconds(t *rapid.T, label string, low, high int) time.Duration {
	return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Second
}

func drawPolicy(t *rapid.T) Policy {
	lowest := rapid.Int32Range(1, 100).Draw(t, "min")
	return Policy{
		MinReplicas: lowest, MaxReplicas: rapid.Int32Range(lowest, 100).Draw(t, "max"),
		TargetBacklogAge: drawSeconds(t, "target", 1, 120), ScaleUpWindow: drawSeconds(t, "up", 0, 120),
		ScaleDownWindow: drawSeconds(t, "down", 10, 600), Cooldown: drawSeconds(t, "cooldown", 0, 120),
		MaxSampleAge: drawSeconds(t, "maxAge", 15, 60),
	}
}

func drawSample(t *rapid.T, now time.Time) Sample {
	s := Sample{
		Current:  rapid.Int32Range(-1, 120).Draw(t, "current"),
		Broker:   rapid.SampledFrom([]Availability{Unknown, Available, Unavailable}).Draw(t, "broker"),
		Database: rapid.SampledFrom([]Availability{Unknown, Available, Unavailable}).Draw(t, "database"),
	}
	if rapid.Bool().Draw(t, "readyKnown") {
		s.Ready = new(rapid.Int32Range(0, 120).Draw(t, "ready"))
	}
	if rapid.Bool().Draw(t, "sampled") {
		s.Backlog = &Backlog{
			At:                now.Add(-drawSeconds(t, "sampleAge", 0, 90)),
			OldestEligibleAge: drawSeconds(t, "age", -10, 600),
		}
	}
	return s
}

func drawHistory(t *rapid.T, now time.Time, p Policy) History {
	h := History{Since: now.Add(-drawSeconds(t, "since", 0, 1200))}
	if rapid.Bool().Draw(t, "scaledBefore") {
		h.LastScale = now.Add(-drawSeconds(t, "scaled", 0, 300))
	}
	age := drawSeconds(t, "ageBefore", 0, 600)
	for at := now.Add(-drawSeconds(t, "period", 0, 1200)); at.Before(now); at = at.Add(poll) {
		s := Sample{Current: 1, Backlog: &Backlog{At: at, OldestEligibleAge: age}}
		h = Observe(at, p, s, h)
	}
	return h
}

func TestDecisionsKeepTheirPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawPolicy(t), drawSample(t, noon)
		h := drawHistory(t, noon, p)
		points := slices.Clone(h.Points)
		h2 := Observe(noon, p, s, h)
		got := Decide(noon, p, s, h2)

		require.Equal(t, points, h.Points, "Observe changed its input")
		require.Equal(t, got, Decide(noon, p, s, h2), "not deterministic")
		require.GreaterOrEqual(t, got.Desired, p.MinReplicas)
		require.LessOrEqual(t, got.Desired, p.MaxReplicas)
		require.Equal(t, got.LimitedBy == "", got.Desired == got.Recommended)
		require.NotEmpty(t, got.Reason)
		require.NotEmpty(t, got.Message)

		known := p.clamp(s.Current)
		if !s.fresh(noon, p) || s.Broker == Unavailable || s.Database == Unavailable {
			require.Equal(t, known, got.Desired, "a closed gate changed the size")
		}
		if !h2.LastScale.IsZero() && noon.Sub(h2.LastScale) < p.Cooldown {
			require.Equal(t, known, got.Desired, "a change inside the cooldown")
		}
	})
}

func TestAnOlderBacklogNeverAsksForFewer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawPolicy(t), drawSample(t, noon)
		h := drawHistory(t, noon, p)
		older := s
		if s.Backlog != nil {
			b := *s.Backlog
			b.OldestEligibleAge += drawSeconds(t, "more", 0, 600)
			older.Backlog = &b
		}
		less := Decide(noon, p, s, Observe(noon, p, s, h))
		more := Decide(noon, p, older, Observe(noon, p, older, h))
		require.GreaterOrEqual(t, more.Desired, less.Desired)
	})
}

// A restart at any moment of any run loses the memory, but neither the size nor
// the time of the last change; for one window nothing shrinks.
func TestARestartNeverLowers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, s := drawPolicy(t), drawSample(t, noon)
		p.ScaleDownWindow = max(p.ScaleDownWindow, p.MaxSampleAge)
		size := p.clamp(s.Current)
		s.Current = size
		var h History
		for at := noon; at.Sub(noon) < p.ScaleDownWindow; at = at.Add(poll) {
			if s.Backlog != nil {
				s.Backlog.At = at
			}
			h = Observe(at, p, s, h)
			got := Decide(at, p, s, h)
			require.GreaterOrEqual(t, got.Desired, size)
			size = got.Desired
			s.Current = size
		}
	})
}
