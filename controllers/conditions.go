package controllers

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/scaling"
)

// Conditions of the fleet and its backlog. Their messages have no numbers that move:
// a message that differs would be written each time. Status has the numbers.

const (
	reasonSuspended         = "Suspended"
	reasonSuspending        = "Suspending"
	reasonManual            = "Manual"
	reasonFollowingBacklog  = "FollowingBacklog"
	reasonWithinLimits      = "WithinLimits"
	reasonWithinTarget      = "WithinTarget"
	reasonBacklogOverTarget = "BacklogOverTarget"
	reasonTooManyRows       = "TooManyRows"
	reasonTableTooLarge     = "TableTooLarge"
	reasonCountingStops     = "CountingStops"
	reasonNoFailedEvents    = "NoFailedEvents"
	reasonEventsFailed      = "EventsFailed"
	reasonNotRecorded       = "NotRecorded"
)

// limitFailed is what a relay says of a table that cannot record FAILED.
const limitFailed = "failed"

func (s *scope) setAvailable(status *v1alpha1.OutboxRelayStatus) {
	set := func(value metav1.ConditionStatus, reason, message string) {
		s.set(status, v1alpha1.ConditionAvailable, value, reason, message)
	}
	switch {
	case s.relay.Spec.Suspend:
		set(metav1.ConditionTrue, reasonSuspended, "no relay shall run")
	case s.deployment == nil:
		set(metav1.ConditionUnknown, reasonWaitingForRelays, "the relays have not been made yet")
	case s.deployment.Status.ReadyReplicas > 0:
		set(metav1.ConditionTrue, reasonRelaysRunning, "at least one relay is ready")
	default:
		set(metav1.ConditionFalse, reasonRelaysNotReady, fmt.Sprintf("no relay is ready: look at the pods of Deployment %q", s.deployment.Name))
	}
}

func (s *scope) setScalingActive(status *v1alpha1.OutboxRelayStatus) {
	set := func(value metav1.ConditionStatus, reason, message string) {
		s.set(status, v1alpha1.ConditionScalingActive, value, reason, message)
	}
	switch s.decision.Reason {
	case "": // The pass ended before it.
	case scaling.Suspended:
		set(metav1.ConditionFalse, reasonSuspended, "spec.suspend is true: no relay shall run")
	case scaling.Manual:
		set(metav1.ConditionTrue, reasonManual, "spec.replicas is the size")
	case scaling.SampleUnavailable:
		set(metav1.ConditionUnknown, string(s.decision.Reason), "no relay has reported the backlog lately: the size is held")
	case scaling.DatabaseUnavailable:
		set(metav1.ConditionFalse, string(s.decision.Reason), "no relay can use the database: the size is held, more relays could not help")
	case scaling.BrokerUnavailable:
		set(metav1.ConditionFalse, string(s.decision.Reason), "no relay can publish to the broker: the size is held, more relays could not help")
	default:
		message := "the size follows the backlog"
		if s.relay.Spec.Replicas != nil {
			message += "; spec.replicas means nothing in mode Auto: leave it out, or write scaling.mode: Manual"
		}
		set(metav1.ConditionTrue, reasonFollowingBacklog, message)
	}
}

func (s *scope) setScalingLimited(status *v1alpha1.OutboxRelayStatus) {
	switch limit := s.decision.LimitedBy; {
	case s.decision.Reason == "": // The pass ended before it.
	case limit == "":
		s.set(status, v1alpha1.ConditionScalingLimited, metav1.ConditionFalse, reasonWithinLimits, "nothing keeps the size from what is recommended")
	default:
		s.set(status, v1alpha1.ConditionScalingLimited, metav1.ConditionTrue, string(limit),
			"status.scaling.recommendedReplicas says how many relays there would be without this limit")
	}
}

// setBacklogWithinTarget ends trouble only at half of the target: an age that moves
// around the target is one time of trouble, not many.
func (s *scope) setBacklogWithinTarget(status *v1alpha1.OutboxRelayStatus) {
	set := func(value metav1.ConditionStatus, reason, message string) {
		s.set(status, v1alpha1.ConditionBacklogWithinTarget, value, reason, message)
	}
	look, known := s.observation.Newest()
	if !known {
		set(metav1.ConditionUnknown, reasonNotReported, "no relay has looked at the table lately")
		return
	}
	target := s.policy.TargetBacklogAge.Seconds()
	limit := target
	if meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionBacklogWithinTarget) {
		limit = target / 2
	}
	if look.Backlog.OldestEligibleAgeSeconds > limit {
		set(metav1.ConditionFalse, reasonBacklogOverTarget, fmt.Sprintf(
			"the oldest row has been due for longer than the target of %.0f s; this passes at half of it", target))
		return
	}
	set(metav1.ConditionTrue, reasonWithinTarget, fmt.Sprintf("no row has been due for longer than the target of %.0f s", target))
}

func (s *scope) setBacklogOverLimit(status *v1alpha1.OutboxRelayStatus) {
	limits := s.relay.Spec.Backlog
	if limits == (v1alpha1.BacklogLimits{}) {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionBacklogOverLimit)
		return
	}
	set := func(value metav1.ConditionStatus, reason, message string) {
		s.set(status, v1alpha1.ConditionBacklogOverLimit, value, reason, message)
	}
	look, known := s.observation.Newest()
	b := status.Backlog
	switch {
	case !known || limits.LimitBytes > 0 && b.TableBytes == nil && limits.LimitRows == 0:
		set(metav1.ConditionUnknown, reasonNotReported, "no relay has looked at the table lately")
	case limits.LimitRows > 0 && look.Backlog.Eligible > limits.LimitRows:
		set(metav1.ConditionTrue, reasonTooManyRows, fmt.Sprintf("more rows wait than spec.backlog.limitRows, %d, allows", limits.LimitRows))
	case limits.LimitBytes > 0 && b.TableBytes != nil && *b.TableBytes > limits.LimitBytes:
		set(metav1.ConditionTrue, reasonTableTooLarge, fmt.Sprintf("the table is larger than spec.backlog.limitBytes, %d, allows", limits.LimitBytes))
	case limits.LimitRows > 0 && look.Backlog.Cap > 0 && look.Backlog.Eligible >= look.Backlog.Cap:
		set(metav1.ConditionUnknown, reasonCountingStops, fmt.Sprintf(
			"at least %d rows wait, and counting stops there: spec.backlog.limitRows, %d, cannot be judged; limitBytes can", look.Backlog.Cap, limits.LimitRows))
	default:
		set(metav1.ConditionFalse, reasonWithinLimits, "the backlog is within spec.backlog")
	}
}

func (s *scope) setFailedEvents(status *v1alpha1.OutboxRelayStatus) {
	set := func(value metav1.ConditionStatus, reason, message string) {
		s.set(status, v1alpha1.ConditionFailedEvents, value, reason, message)
	}
	look, known := s.observation.Newest()
	switch {
	case !known:
		set(metav1.ConditionUnknown, reasonNotReported, "no relay has looked at the table lately")
	case look.Backlog.Failed > 0:
		set(metav1.ConditionTrue, reasonEventsFailed,
			"rows are FAILED and wait for somebody: status.backlog.failed says how many; an OutboxReplay publishes them")
	case slices.Contains(status.Limits, limitFailed):
		set(metav1.ConditionFalse, reasonNotRecorded, "the table cannot record FAILED: events are tried for ever")
	default:
		set(metav1.ConditionFalse, reasonNoFailedEvents, "no row is FAILED")
	}
}

// isSuspended says whether the last relay has been told to end.
func (s *scope) isSuspended() bool {
	d := s.deployment
	return d != nil && d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == 0
}
