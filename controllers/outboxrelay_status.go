package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/backlog"
	"github.com/relayfleet/relayfleet/controllers/resources"
	"github.com/relayfleet/relayfleet/relay/report"
)

// Reasons of conditions beside those in findings.go and errors.
const (
	reasonRelaysRunning     = "RelaysRunning"
	reasonRelaysNotReady    = "RelaysNotReady"
	reasonRolloutInProgress = "RolloutInProgress"
	reasonRetrying          = "Retrying"
	reasonNotReported       = "NotReported"
	reasonReachable         = "Reachable"
	reasonValid             = "Valid"
	reasonSampled           = "Sampled"
	reasonWaitingForRelays  = "WaitingForRelays"
	reasonNoRelayAnswers    = "NoRelayAnswers"
	reasonTableNotSampled   = "TableNotSampled"
)

// writeStatus writes the status once, at the end of a pass, if it is worth it.
func (r *OutboxRelayReconciler) writeStatus(ctx context.Context, s *scope) error {
	before := s.track.newestStatus(s.relay)
	after := s.status(before)
	if !worthWriting(before, after, s.now.Sub(s.track.writtenAt)) {
		return nil
	}
	base := s.relay.DeepCopy()
	base.Status = before
	changed := base.DeepCopy()
	changed.Status = after
	err := r.client.Status().Patch(ctx, changed, client.MergeFrom(base), client.FieldOwner(resources.FieldOwner))
	if apierrors.IsNotFound(err) {
		return nil // It was deleted meanwhile.
	}
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	s.track.status, s.track.statusVersion, s.track.writtenAt = changed.Status.DeepCopy(), changed.ResourceVersion, s.now
	r.tell(s.relay, before, after)
	return nil
}

// status is what there is to say now, from what was said before.
func (s *scope) status(before v1alpha1.OutboxRelayStatus) v1alpha1.OutboxRelayStatus {
	status := *before.DeepCopy()
	if !isRetried(s.problem) {
		status.ObservedGeneration = s.relay.Generation
	}
	s.setRelays(&status)
	s.setBacklog(&status)
	s.setTopic(&status)
	s.setScaling(&status)
	for _, set := range []func(*v1alpha1.OutboxRelayStatus){
		s.setDatabaseReachable,
		s.setSchemaValid,
		s.setBrokerReachable,
		s.setBacklogKnown,
		s.setBacklogWithinTarget,
		s.setBacklogOverLimit,
		s.setFailedEvents,
		s.setScalingActive,
		s.setScalingLimited,
		s.setKeyOrderKept,
		s.setNotificationsHeard,
		s.setAvailable,
		s.setStalled,
		s.setReconciling,
		s.setReady,
	} {
		set(&status)
	}
	return status
}

func (s *scope) setRelays(status *v1alpha1.OutboxRelayStatus) {
	status.Selector = resources.Selector(s.relay).String()
	if s.deployment == nil {
		status.Replicas, status.ReadyReplicas = nil, nil
		return
	}
	status.Replicas = new(s.deployment.Status.Replicas)
	status.ReadyReplicas = new(s.deployment.Status.ReadyReplicas)
	if containers := s.deployment.Spec.Template.Spec.Containers; len(containers) > 0 {
		status.Image = containers[0].Image
	}
}

// setBacklog keeps the last known values where nothing newer is known.
func (s *scope) setBacklog(status *v1alpha1.OutboxRelayStatus) {
	look, known := s.observation.Newest()
	if !known {
		return
	}
	status.Limits = s.observation.Limits()
	b, rates := look.Backlog, s.observation.Rates()
	status.Backlog = &v1alpha1.BacklogStatus{
		OldestEligibleAgeSeconds: new(int64(b.OldestEligibleAgeSeconds)),
		OldestUnsentAgeSeconds:   new(int64(b.OldestUnsentAgeSeconds)),
		Eligible:                 new(b.Eligible),
		InFlight:                 new(b.InFlight),
		ExpiredLeases:            new(b.ExpiredLeases),
		Failed:                   new(b.Failed),
		PublishedPerMinute:       new(rates.Published),
		ReclaimedPerMinute:       new(rates.Reclaimed),
		RejectedStalePerMinute:   new(rates.Stale),
		SampledAt:                new(metav1.NewTime(look.At.UTC().Truncate(time.Second))),
	}
	if b.Cap > 0 {
		status.Backlog.CountLimit = new(b.Cap)
	}
	if b.ArrivalsPerMinute != nil {
		status.Backlog.ArrivalsPerMinute = new(int64(*b.ArrivalsPerMinute))
	}
}

func (s *scope) setScaling(status *v1alpha1.OutboxRelayStatus) {
	if s.decision.Reason == "" {
		return // The pass ended before it.
	}
	status.Scaling = &v1alpha1.ScalingStatus{
		DesiredReplicas:     new(s.decision.Desired),
		RecommendedReplicas: new(s.decision.Recommended),
		LimitedBy:           string(s.decision.LimitedBy),
		Reason:              string(s.decision.Reason),
		Message:             s.decision.Message,
		Effective:           new(s.relay.Spec.Scaling.Effective()),
	}
	if last := s.track.history.LastScale; !last.IsZero() {
		status.Scaling.LastScaleTime = new(metav1.NewTime(last.UTC().Truncate(time.Second)))
	}
}

func (s *scope) setDatabaseReachable(status *v1alpha1.OutboxRelayStatus) {
	s.setFinding(status, v1alpha1.ConditionDatabaseReachable, databaseFinding(s.observation), databaseAdvice,
		reasonReachable, "the relays can use the database")
}

func (s *scope) setSchemaValid(status *v1alpha1.OutboxRelayStatus) {
	s.setFinding(status, v1alpha1.ConditionSchemaValid, schemaFinding(s.observation), schemaAdvice,
		reasonValid, "table "+table(&s.relay.Spec)+" can serve as an outbox"+warned(s.observation.Findings()))
}

func (s *scope) setBrokerReachable(status *v1alpha1.OutboxRelayStatus) {
	s.setFinding(status, v1alpha1.ConditionBrokerReachable, brokerFinding(s.observation), brokerAdvice,
		reasonReachable, "the relays can publish to "+topic(&s.relay.Spec))
}

func (s *scope) setFinding(
	status *v1alpha1.OutboxRelayStatus, condition string, f finding, table map[report.Code]advice, reason, message string,
) {
	switch f.code {
	case report.OK:
		s.set(status, condition, metav1.ConditionTrue, reason, message)
	case report.Unchecked:
		s.set(status, condition, metav1.ConditionUnknown, reasonNotReported, "no relay has been able to look yet")
	default:
		a := adviceFor(table, f.code)
		s.set(status, condition, metav1.ConditionFalse, a.reason, a.say(&s.relay.Spec, f))
	}
}

func (s *scope) setBacklogKnown(status *v1alpha1.OutboxRelayStatus) {
	set := func(value metav1.ConditionStatus, reason, message string) {
		s.set(status, v1alpha1.ConditionBacklogKnown, value, reason, message)
	}
	_, known := s.observation.Newest()
	switch {
	case known:
		set(metav1.ConditionTrue, reasonSampled, "a relay has looked at the table lately")
	case len(s.observation.Answers) > 0:
		set(metav1.ConditionFalse, reasonTableNotSampled,
			"the relays answer and cannot look at the table: see DatabaseReachable and SchemaValid; the last known age means at least, and the size is held")
	case s.observation.Running > 0:
		set(metav1.ConditionFalse, reasonNoRelayAnswers,
			"no running relay "+silence(s.observation.Failure)+"; the last known age means at least, and the size is held")
	case s.relay.Spec.Suspend:
		set(metav1.ConditionUnknown, reasonSuspended, "no relay runs that could look at the table")
	default:
		set(metav1.ConditionUnknown, reasonWaitingForRelays, "no relay is running yet")
	}
}

// silence says what no relay does, and what may be the cause.
func silence(failure error) string {
	switch {
	case errors.Is(failure, backlog.ErrMalformed):
		return "gives a report that this operator can read: spec.image may be too old or too new"
	case errors.Is(failure, backlog.ErrForeign):
		return "reports as one of this resource: something else answers at the pods' addresses"
	case errors.Is(failure, backlog.ErrRefused):
		return fmt.Sprintf("serves a report on port %d: a proxy or mesh may stand between", resources.ReportPort)
	default:
		return fmt.Sprintf("answers the operator on port %d: a network policy or a mesh may forbid it", resources.ReportPort)
	}
}

func (s *scope) setStalled(status *v1alpha1.OutboxRelayStatus) {
	if blocked, ok := errors.AsType[*blockedError](s.problem); ok {
		s.set(status, v1alpha1.ConditionStalled, metav1.ConditionTrue, blocked.reason, blocked.message)
		return
	}
	for _, c := range s.trouble() {
		if c.advice.gravity == needsHuman && !s.relay.Spec.Suspend {
			s.set(status, v1alpha1.ConditionStalled, metav1.ConditionTrue, c.advice.reason, c.advice.say(&s.relay.Spec, c.finding))
			return
		}
	}
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStalled)
}

func (s *scope) setReconciling(status *v1alpha1.OutboxRelayStatus) {
	set := func(reason, message string) {
		s.set(status, v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
	}
	var waiting *waitingError
	switch {
	case meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled):
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReconciling)
	case errors.As(s.problem, &waiting):
		set(waiting.reason, waiting.message)
	case s.problem != nil:
		set(reasonRetrying, "the last pass failed and is tried again: see the operator's log")
	case s.relay.Spec.Suspend && !s.isSuspended():
		set(reasonSuspending, "spec.suspend is true: the relays give back what they have claimed and end")
	case !s.relay.Spec.Suspend && !isRolledOut(s.deployment, s.track.templateGeneration):
		set(reasonRolloutInProgress, "the relays are being replaced by ones of the current template")
	default:
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReconciling)
	}
}

// isRolledOut does not ask whether the size is reached, or even noticed: a
// change of size is no change of what the user wants.
func isRolledOut(deployment *appsv1.Deployment, templateGeneration int64) bool {
	if deployment == nil {
		return false
	}
	status := deployment.Status
	return status.ObservedGeneration >= templateGeneration && status.UpdatedReplicas > 0 &&
		status.UpdatedReplicas >= status.Replicas
}

// setReady comes last, because it sums up.
func (s *scope) setReady(status *v1alpha1.OutboxRelayStatus) {
	set := func(value metav1.ConditionStatus, reason, message string) {
		s.set(status, v1alpha1.ConditionReady, value, reason, message)
	}
	if stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); stalled != nil {
		set(metav1.ConditionFalse, stalled.Reason, stalled.Message)
		return
	}
	if s.relay.Spec.Suspend {
		set(metav1.ConditionTrue, reasonSuspended, "spec.suspend is true: no relay runs and nothing is published")
		return
	}
	ready := s.deployment != nil && s.deployment.Status.ReadyReplicas > 0
	for _, c := range s.trouble() {
		if c.advice.gravity == misconfigured || !ready {
			set(metav1.ConditionFalse, c.advice.reason, c.advice.say(&s.relay.Spec, c.finding))
			return
		}
	}
	switch {
	case ready:
		set(metav1.ConditionTrue, reasonRelaysRunning, "relays are running")
	case s.deployment != nil && isStuck(s.deployment):
		set(metav1.ConditionFalse, reasonRelaysNotReady,
			fmt.Sprintf("no relay becomes ready: look at the pods of Deployment %q", s.deployment.Name))
	default:
		set(metav1.ConditionFalse, reasonRelaysNotReady, "no relay is ready yet")
	}
}

func isStuck(deployment *appsv1.Deployment) bool {
	for _, c := range deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			return true
		}
	}
	return false
}

// complaint is one finding that is not well.
type complaint struct {
	finding finding
	advice  advice
}

// trouble lists what is not well, in the order in which it has to be mended.
func (s *scope) trouble() []complaint {
	var list []complaint
	for _, subject := range []struct {
		finding finding
		advice  map[report.Code]advice
	}{
		{databaseFinding(s.observation), databaseAdvice},
		{schemaFinding(s.observation), schemaAdvice},
		{brokerFinding(s.observation), brokerAdvice},
	} {
		if subject.finding.affected > 0 {
			list = append(list, complaint{subject.finding, adviceFor(subject.advice, subject.finding.code)})
		}
	}
	return list
}

func (s *scope) set(status *v1alpha1.OutboxRelayStatus, condition string, value metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: condition, Status: value, Reason: reason, Message: message,
		ObservedGeneration: s.relay.Generation, LastTransitionTime: metav1.NewTime(s.now),
	})
}

// tellable are the conditions whose changes are told, with the status that is bad.
var tellable = map[string]metav1.ConditionStatus{
	v1alpha1.ConditionDatabaseReachable:   metav1.ConditionFalse,
	v1alpha1.ConditionSchemaValid:         metav1.ConditionFalse,
	v1alpha1.ConditionBrokerReachable:     metav1.ConditionFalse,
	v1alpha1.ConditionBacklogKnown:        metav1.ConditionFalse,
	v1alpha1.ConditionBacklogWithinTarget: metav1.ConditionFalse,
	v1alpha1.ConditionBacklogOverLimit:    metav1.ConditionTrue,
	v1alpha1.ConditionFailedEvents:        metav1.ConditionTrue,
	v1alpha1.ConditionLeaseSafe:           metav1.ConditionFalse,
	v1alpha1.ConditionKeyOrderKept:        metav1.ConditionFalse,
	v1alpha1.ConditionNotificationsHeard:  metav1.ConditionFalse,
}

// tell records an event for what has changed between two statuses, and only then.
func (r *OutboxRelayReconciler) tell(relay *v1alpha1.OutboxRelay, before, after v1alpha1.OutboxRelayStatus) {
	told := map[string]bool{}
	for condition, bad := range tellable {
		now := meta.FindStatusCondition(after.Conditions, condition)
		if now == nil {
			continue // The spec does not ask for it.
		}
		was := meta.FindStatusCondition(before.Conditions, condition)
		wasBad := was != nil && was.Status == bad
		switch {
		case now.Status == bad && (!wasBad || was.Reason != now.Reason):
			told[now.Reason] = true
			r.events.Eventf(relay, nil, corev1.EventTypeWarning, now.Reason, "Check", "%s", now.Message)
		case now.Status != bad && now.Status != metav1.ConditionUnknown && wasBad:
			r.events.Eventf(relay, nil, corev1.EventTypeNormal, now.Reason, "Check", "%s: %s", condition, now.Message)
		}
	}
	// A report that stalls the resource has just been told of.
	stalled := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionStalled)
	if stalled != nil && !told[stalled.Reason] && !meta.IsStatusConditionTrue(before.Conditions, v1alpha1.ConditionStalled) {
		r.events.Eventf(relay, nil, corev1.EventTypeWarning, stalled.Reason, "Reconcile", "%s", stalled.Message)
	}
	r.tellSize(relay, before, after)
}

func (r *OutboxRelayReconciler) tellSize(relay *v1alpha1.OutboxRelay, before, after v1alpha1.OutboxRelayStatus) {
	from, to, changed := scaled(before, after)
	if !changed {
		return
	}
	action := "ScaleUp"
	if to < from {
		action = "ScaleDown"
	}
	r.events.Eventf(relay, nil, corev1.EventTypeNormal, after.Scaling.Reason, action, "%s", after.Scaling.Message)
}

func scaled(before, after v1alpha1.OutboxRelayStatus) (from, to int32, changed bool) {
	if before.Scaling == nil || before.Scaling.DesiredReplicas == nil ||
		after.Scaling == nil || after.Scaling.DesiredReplicas == nil {
		return 0, 0, false
	}
	from, to = *before.Scaling.DesiredReplicas, *after.Scaling.DesiredReplicas
	return from, to, from != to
}
