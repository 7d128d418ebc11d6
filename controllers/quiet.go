package controllers

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

const (
	// stepInterval is the least time between two writes that only move numbers.
	stepInterval = 30 * time.Second
	// heartbeat is when an unchanged object is written, so that the time of its
	// last look says that somebody still looks.
	heartbeat = 10 * time.Minute

	// Below these, a number is as good as zero: an outbox at rest is never
	// quite empty.
	quietSeconds = 5
	quietRows    = 100
)

// worthWriting says whether the difference between two statuses is worth a write
// to the API server (I12): a condition or a decision at once, a number that has
// doubled or halved when the last write is some time ago, else a heartbeat.
func worthWriting(before, after v1alpha1.OutboxRelayStatus, sinceWrite time.Duration) bool {
	if !equality.Semantic.DeepEqual(withoutNumbers(before), withoutNumbers(after)) || settled(before, after) {
		return true
	}
	if sinceWrite >= heartbeat {
		return !equality.Semantic.DeepEqual(before, after)
	}
	return sinceWrite >= stepInterval &&
		(relaysMoved(before, after) || reasonMoved(before.Scaling, after.Scaling) || backlogMoved(before.Backlog, after.Backlog))
}

// withoutNumbers is what of a status is said at once: all but what moves by itself.
func withoutNumbers(status v1alpha1.OutboxRelayStatus) v1alpha1.OutboxRelayStatus {
	s := *status.DeepCopy()
	s.Replicas, s.ReadyReplicas, s.Backlog = nil, nil, nil
	if s.Scaling != nil {
		// Only another size is a decision; why it stays may change at every
		// report. The sentence is as new as the last write.
		s.Scaling.Reason, s.Scaling.Message, s.Scaling.RecommendedReplicas = "", "", nil
	}
	return s
}

// settled says whether the relays have just become as many as they shall be, or
// have just gone: what somebody may be waiting for.
func settled(before, after v1alpha1.OutboxRelayStatus) bool {
	if !relaysMoved(before, after) {
		return false
	}
	ready := valueOf(after.ReadyReplicas)
	all := after.Scaling != nil && ready == valueOf(after.Scaling.DesiredReplicas) && ready == valueOf(after.Replicas)
	return all || ready == 0
}

func relaysMoved(before, after v1alpha1.OutboxRelayStatus) bool {
	return !equality.Semantic.DeepEqual(before.Replicas, after.Replicas) ||
		!equality.Semantic.DeepEqual(before.ReadyReplicas, after.ReadyReplicas)
}

func reasonMoved(before, after *v1alpha1.ScalingStatus) bool {
	return before != nil && after != nil && before.Reason != after.Reason
}

func backlogMoved(before, after *v1alpha1.BacklogStatus) bool {
	if before == nil || after == nil {
		return before != after
	}
	return stepped(before.OldestEligibleAgeSeconds, after.OldestEligibleAgeSeconds, quietSeconds) ||
		stepped(before.OldestUnsentAgeSeconds, after.OldestUnsentAgeSeconds, quietSeconds) ||
		stepped(before.Eligible, after.Eligible, quietRows) ||
		stepped(before.InFlight, after.InFlight, quietRows) ||
		stepped(before.ExpiredLeases, after.ExpiredLeases, 0) ||
		stepped(before.Failed, after.Failed, 0) ||
		stepped(before.ArrivalsPerMinute, after.ArrivalsPerMinute, quietRows) ||
		stepped(before.PublishedPerMinute, after.PublishedPerMinute, quietRows) ||
		stepped(before.ReclaimedPerMinute, after.ReclaimedPerMinute, quietRows) ||
		stepped(before.RejectedStalePerMinute, after.RejectedStalePerMinute, 0)
}

// stepped says whether a number has at least doubled or halved, above what is
// quiet; to become known or unknown is a step too.
func stepped(before, after *int64, quiet int64) bool {
	if before == nil || after == nil {
		return before != after
	}
	low, high := min(*before, *after), max(*before, *after)
	return high > quiet && high >= 2*low && high != low
}

func valueOf(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}
