package scaling

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	policy = Policy{
		MinReplicas: 1, MaxReplicas: 10,
		TargetBacklogAge: 30 * time.Second, ScaleUpWindow: 30 * time.Second, ScaleDownWindow: 300 * time.Second,
		Cooldown: 60 * time.Second, MaxSampleAge: 45 * time.Second,
	}
)

const poll = 15 * time.Second

// seen is a history in which every poll of the last period saw the same age.
func seen(age, period time.Duration) History {
	h := History{Since: noon.Add(-time.Hour)}
	for at := noon.Add(-period); !at.After(noon); at = at.Add(poll) {
		h.Points = append(h.Points, Point{At: at, Age: age})
	}
	return h
}

func sample(current int32, age time.Duration) Sample {
	return Sample{
		Current: current, Ready: new(current), Broker: Available, Database: Available,
		Backlog: &Backlog{At: noon, OldestEligibleAge: age},
	}
}

func with(s Sample, change func(*Sample)) Sample {
	change(&s)
	return s
}

func TestDecide(t *testing.T) {
	t.Parallel()
	high, low, middle := 74*time.Second, 2*time.Second, 20*time.Second
	scaledAgo := func(h History, d time.Duration) History { h.LastScale = noon.Add(-d); return h }
	for name, tc := range map[string]struct {
		sample  Sample
		history History
		want    Decision
	}{
		"the first decision is the minimum": {
			Sample{},
			History{},
			Decision{Desired: 1, Recommended: 1, Reason: WithinBounds, Message: "from 0 to 1 relays: minimum 1, maximum 10"},
		},
		"a size above the maximum is brought down even when nothing is known": {
			Sample{Current: 40},
			History{},
			Decision{Desired: 10, Recommended: 10, Reason: WithinBounds, Message: "from 40 to 10 relays: minimum 1, maximum 10"},
		},
		"over the target for the window doubles": {
			sample(2, high), seen(high, 45*time.Second),
			Decision{
				Desired: 4, Recommended: 4, Reason: BacklogOverTarget,
				Message: "oldest eligible row 74 s, over the target of 30 s for 45 s: from 2 to 4 relays",
			},
		},
		"a step up is at most four": {
			sample(5, high), seen(high, 45*time.Second),
			Decision{
				Desired: 9, Recommended: 9, Reason: BacklogOverTarget,
				Message: "oldest eligible row 74 s, over the target of 30 s for 45 s: from 5 to 9 relays",
			},
		},
		"a step up ends at the maximum": {
			sample(8, high), seen(high, 45*time.Second),
			Decision{
				Desired: 10, Recommended: 12, LimitedBy: LimitMax, Reason: BacklogOverTarget,
				Message: "oldest eligible row 74 s, over the target of 30 s for 45 s: from 8 to 12 relays; limited to the maximum of 10",
			},
		},
		"over the target for too short holds": {
			sample(2, high), seen(high, 15*time.Second),
			Decision{
				Desired: 2, Recommended: 2, Reason: Stabilizing,
				Message: "oldest eligible row 74 s, over the target of 30 s for 15 s of 30 s: 2 relays stay",
			},
		},
		"a change too short ago holds growth": {
			sample(2, high), scaledAgo(seen(high, 45*time.Second), 20*time.Second),
			Decision{
				Desired: 2, Recommended: 2, Reason: Cooldown,
				Message: "oldest eligible row 74 s, over the target of 30 s; the next change from 2 relays waits 40 s",
			},
		},
		"relays that have not started hold growth": {
			with(sample(4, high), func(s *Sample) { s.Ready = new(int32(2)) }), seen(high, 45*time.Second),
			Decision{
				Desired: 4, Recommended: 4, Reason: RelaysNotReady,
				Message: "2 of 4 relays are ready; oldest eligible row 74 s, target 30 s: no more before they are",
			},
		},
		"relays that cannot start do not keep a calm fleet large": {
			with(sample(4, low), func(s *Sample) { s.Ready = new(int32(2)) }), seen(low, 315*time.Second),
			Decision{
				Desired: 3, Recommended: 3, Reason: BacklogLow,
				Message: "oldest eligible row 2 s, under 30 % of the target of 30 s for 315 s: from 4 to 3 relays",
			},
		},
		"a broker outage holds": {
			with(sample(2, high), func(s *Sample) { s.Broker = Unavailable }), seen(high, 45*time.Second),
			Decision{
				Desired: 2, Recommended: 2, Reason: BrokerUnavailable,
				Message: "no relay can publish to the broker: 2 relays stay, more could not help",
			},
		},
		"a database outage holds, and says so although there is no sample": {
			with(sample(2, high), func(s *Sample) { s.Database, s.Backlog = Unavailable, nil }),
			History{},
			Decision{
				Desired: 2, Recommended: 2, Reason: DatabaseUnavailable,
				Message: "no relay can use the database: 2 relays stay, more could not help",
			},
		},
		"a look from before the last change holds": {
			sample(2, high), scaledAgo(seen(high, 45*time.Second), 0),
			Decision{
				Desired: 2, Recommended: 2, Reason: Stabilizing,
				Message: "no relay has looked at the table since the last change: 2 relays stay",
			},
		},
		"no sample holds": {
			with(sample(7, 0), func(s *Sample) { s.Backlog = nil }), seen(low, 600*time.Second),
			Decision{
				Desired: 7, Recommended: 7, Reason: SampleUnavailable,
				Message: "no relay has reported the backlog in the last 45 s: 7 relays stay",
			},
		},
		"an old sample is none": {
			with(sample(7, low), func(s *Sample) { s.Backlog.At = noon.Add(-46 * time.Second) }), seen(low, 600*time.Second),
			Decision{
				Desired: 7, Recommended: 7, Reason: SampleUnavailable,
				Message: "no relay has reported the backlog in the last 45 s: 7 relays stay",
			},
		},
		"low for the window shrinks by a quarter": {
			sample(8, low), seen(low, 315*time.Second),
			Decision{
				Desired: 6, Recommended: 6, Reason: BacklogLow,
				Message: "oldest eligible row 2 s, under 30 % of the target of 30 s for 315 s: from 8 to 6 relays",
			},
		},
		"low for too short holds": {
			sample(8, low), seen(low, 60*time.Second),
			Decision{
				Desired: 8, Recommended: 8, Reason: Stabilizing,
				Message: "oldest eligible row 2 s, under 30 % of the target of 30 s for 60 s of 300 s: 8 relays stay",
			},
		},
		"a young memory does not shrink": {
			sample(8, low),
			History{Since: noon.Add(-60 * time.Second), Points: seen(low, 60*time.Second).Points},
			Decision{
				Desired: 8, Recommended: 8, Reason: HistoryIncomplete,
				Message: "oldest eligible row 2 s, under 30 % of the target of 30 s for 60 s of 300 s: 8 relays stay",
			},
		},
		"one relay is the least": {
			sample(1, 0), seen(0, 315*time.Second),
			Decision{
				Desired: 1, Recommended: 1, Reason: WithinTarget,
				Message: "oldest eligible row 0 s, target 30 s: the minimum is 1",
			},
		},
		"between low and target nothing changes": {
			sample(3, middle), seen(middle, 315*time.Second),
			Decision{
				Desired: 3, Recommended: 3, Reason: WithinTarget,
				Message: "oldest eligible row 20 s, target 30 s: 3 relays are enough",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, Decide(noon, policy, tc.sample, tc.history))
		})
	}
}

func TestObserveBeginsAnewAfterAnOutage(t *testing.T) {
	t.Parallel()
	outage := with(sample(2, 90*time.Second), func(s *Sample) { s.Broker = Unavailable })
	h := Observe(noon, policy, outage, seen(90*time.Second, 45*time.Second))
	require.Equal(t, noon, h.Since)
	after := noon.Add(poll)
	mended := with(sample(2, 600*time.Second), func(s *Sample) { s.Backlog.At = after })
	h = Observe(after, policy, mended, h)
	require.Equal(t, Stabilizing, Decide(after, policy, mended, h).Reason, "the age of an outage is not a lack of relays")
}

func TestObserveSeesASampleOnce(t *testing.T) {
	t.Parallel()
	h := Observe(noon, policy, sample(1, time.Second), History{})
	h = Observe(noon.Add(time.Second), policy, sample(1, time.Second), h)
	require.Len(t, h.Points, 1)
}

func TestAGapBreaksTheWindow(t *testing.T) {
	t.Parallel()
	h := seen(90*time.Second, 300*time.Second)
	h.Points = append(h.Points[:len(h.Points)-5:len(h.Points)-5], h.Points[len(h.Points)-1])
	require.Equal(t, Stabilizing, Decide(noon, policy, sample(2, 90*time.Second), h).Reason)
}
