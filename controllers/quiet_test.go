package controllers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

func calm() v1alpha1.OutboxRelayStatus {
	return v1alpha1.OutboxRelayStatus{
		ObservedGeneration: 1, Replicas: new(int32(2)), ReadyReplicas: new(int32(2)),
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "RelaysRunning"}},
		Backlog: &v1alpha1.BacklogStatus{
			OldestEligibleAgeSeconds: new(int64(40)), Eligible: new(int64(1000)), Failed: new(int64(0)),
			SampledAt: new(metav1.NewTime(time.Unix(1000, 0))),
		},
		Scaling: &v1alpha1.ScalingStatus{DesiredReplicas: new(int32(2)), Reason: "Stabilizing", Message: "for 10 s"},
	}
}

func TestWhatIsWorthAWrite(t *testing.T) {
	t.Parallel()
	const (
		never = time.Duration(-1)
		once  = time.Duration(0)
	)
	for name, tc := range map[string]struct {
		change func(*v1alpha1.OutboxRelayStatus)
		// after is how long after the last write it is written.
		after time.Duration
	}{
		"nothing":                  {func(*v1alpha1.OutboxRelayStatus) {}, never},
		"a condition":              {func(s *v1alpha1.OutboxRelayStatus) { s.Conditions[0].Status = metav1.ConditionFalse }, once},
		"a generation":             {func(s *v1alpha1.OutboxRelayStatus) { s.ObservedGeneration = 2 }, once},
		"a size":                   {func(s *v1alpha1.OutboxRelayStatus) { s.Scaling.DesiredReplicas = new(int32(3)) }, once},
		"a limit":                  {func(s *v1alpha1.OutboxRelayStatus) { s.Scaling.LimitedBy = "MaxReplicas" }, once},
		"the last relay has gone":  {func(s *v1alpha1.OutboxRelayStatus) { s.ReadyReplicas = new(int32(0)) }, once},
		"some relays are ready":    {func(s *v1alpha1.OutboxRelayStatus) { s.ReadyReplicas = new(int32(1)) }, stepInterval},
		"another reason to stay":   {func(s *v1alpha1.OutboxRelayStatus) { s.Scaling.Reason = "WithinTarget" }, stepInterval},
		"another sentence":         {func(s *v1alpha1.OutboxRelayStatus) { s.Scaling.Message = "for 25 s" }, heartbeat},
		"an age that doubles":      {func(s *v1alpha1.OutboxRelayStatus) { *s.Backlog.OldestEligibleAgeSeconds = 80 }, stepInterval},
		"an age that halves":       {func(s *v1alpha1.OutboxRelayStatus) { *s.Backlog.OldestEligibleAgeSeconds = 20 }, stepInterval},
		"an age that moves less":   {func(s *v1alpha1.OutboxRelayStatus) { *s.Backlog.OldestEligibleAgeSeconds = 79 }, heartbeat},
		"a backlog that is gone":   {func(s *v1alpha1.OutboxRelayStatus) { *s.Backlog.Eligible = 0 }, stepInterval},
		"the first failed row":     {func(s *v1alpha1.OutboxRelayStatus) { *s.Backlog.Failed = 1 }, stepInterval},
		"a number becomes unknown": {func(s *v1alpha1.OutboxRelayStatus) { s.Backlog.Failed = nil }, stepInterval},
		"only the time": {func(s *v1alpha1.OutboxRelayStatus) {
			s.Backlog.SampledAt = new(metav1.NewTime(time.Unix(2000, 0)))
		}, heartbeat},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := calm()
			tc.change(&after)
			if tc.after == never {
				require.False(t, worthWriting(calm(), after, 24*time.Hour))
				return
			}
			require.True(t, worthWriting(calm(), after, tc.after))
			if tc.after > 0 {
				require.False(t, worthWriting(calm(), after, tc.after-1))
			}
		})
	}
}

func TestAnOutboxAtRestIsQuiet(t *testing.T) {
	t.Parallel()
	for before := range int64(quietSeconds) {
		for after := range int64(quietSeconds) {
			require.False(t, stepped(&before, &after, quietSeconds))
		}
	}
}

// The cache may still show the status of before the last write, which must then
// not be taken for the newest.
func TestAStaleCacheDoesNotTurnBackTheStatus(t *testing.T) {
	t.Parallel()
	written := calm()
	track := &track{status: &written, statusVersion: "1005"}
	stale := &v1alpha1.OutboxRelay{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "998"}}
	require.Equal(t, written, track.newestStatus(stale))
	newer := &v1alpha1.OutboxRelay{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1006"}}
	require.Equal(t, newer.Status, track.newestStatus(newer))
}
