package controllers

import (
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/scaling"
	"github.com/relayfleet/relayfleet/relay/report"
)

func (w *world) conditionOf(o *v1alpha1.OutboxRelay, condition string) *metav1.Condition {
	return meta.FindStatusCondition(o.Status.Conditions, condition)
}

func (w *world) decided(reason scaling.Reason, desired int32) *v1alpha1.OutboxRelay {
	w.Helper()
	return w.wait(string(reason), func(o *v1alpha1.OutboxRelay) bool {
		d := o.Status.Scaling
		return d != nil && d.Reason == string(reason) && *d.DesiredReplicas == desired && o.Status.ObservedGeneration == o.Generation
	})
}

func (w *world) runs(replicas int32) {
	w.Helper()
	require.Eventually(w, func() bool { return *w.deployment().Spec.Replicas == replicas }, patience, pause)
}

func TestASuspendedFleetHasNoRelayAndIsCurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(quick)
	w.create(o)
	w.pod(o, aged(90))
	w.startOperator()
	w.deployed(1)
	w.desired(2)

	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.Suspend = true })
	w.decided(scaling.Suspended, 0)
	w.runs(0)
	w.waitFor(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reasonSuspending)
	require.Equal(t, status.InProgressStatus, w.kstatus())
	w.deployed(0)
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionTrue, reasonSuspended)
	w.waitFor(v1alpha1.ConditionAvailable, metav1.ConditionTrue, reasonSuspended)
	w.waitFor(v1alpha1.ConditionScalingActive, metav1.ConditionFalse, reasonSuspended)
	w.wait("settled", func(o *v1alpha1.OutboxRelay) bool { return w.conditionOf(o, v1alpha1.ConditionReconciling) == nil })
	require.Equal(t, status.CurrentStatus, w.kstatus())

	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.Suspend = false })
	w.runs(1)
	w.waitFor(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reasonRolloutInProgress)
}

// A restarted operator leaves a suspended fleet suspended.
func TestASuspendedFleetStaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox(func(o *v1alpha1.OutboxRelay) { o.Spec.Suspend = true }))
	stop := w.startOperator()
	w.decided(scaling.Suspended, 0)
	w.runs(0)
	stop()
	w.startOperator()
	w.deployed(0)
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionTrue, reasonSuspended)
	w.runs(0)
}

func TestInModeManualTheScaleSubresourceIsTheSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(quick, func(o *v1alpha1.OutboxRelay) { o.Spec.Scaling.Mode = v1alpha1.ScalingManual })
	w.create(o)
	w.pod(o, aged(90))
	w.startOperator()
	w.deployed(1)
	w.decided(scaling.Manual, 1)

	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 9}}
	require.NoError(t, admin.SubResource("scale").Update(t.Context(), w.get(), client.WithSubResourceBody(scale)))
	w.decided(scaling.Manual, 9)
	w.runs(9) // Over maxReplicas, which is for sizes that the operator decides.
	w.waitFor(v1alpha1.ConditionScalingActive, metav1.ConditionTrue, reasonManual)
	w.deployed(9)
	w.wait("counted", func(o *v1alpha1.OutboxRelay) bool {
		return o.Status.ReadyReplicas != nil && *o.Status.ReadyReplicas == 9
	})
	require.NoError(t, admin.SubResource("scale").Get(t.Context(), w.get(), scale))
	require.EqualValues(t, 9, scale.Status.Replicas)
	require.Contains(t, scale.Status.Selector, "app.kubernetes.io/instance=orders")

	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.Replicas = nil })
	got := w.decided(scaling.Manual, 9)
	require.Contains(t, got.Status.Scaling.Message, "without spec.replicas: 9 relays", "what is not said stays")
}

func TestASizeInModeAutoIsNotedAndIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(func(o *v1alpha1.OutboxRelay) { o.Spec.Replicas = new(int32(7)) })
	w.create(o)
	w.pod(o, well)
	w.startOperator()
	w.deployed(1)
	c := w.waitFor(v1alpha1.ConditionScalingActive, metav1.ConditionTrue, reasonFollowingBacklog)
	require.Contains(t, c.Message, "spec.replicas means nothing in mode Auto")
	w.runs(1)
}

func TestConditionsOfTheBacklog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(func(o *v1alpha1.OutboxRelay) {
		o.Spec.Backlog.LimitRows = 500
		o.Spec.Scaling.MaxReplicas = 1
	})
	w.create(o)
	pod := w.pod(o, well)
	w.startOperator()
	w.deployed(1)
	w.waitFor(v1alpha1.ConditionBacklogWithinTarget, metav1.ConditionTrue, reasonWithinTarget)
	w.waitFor(v1alpha1.ConditionBacklogOverLimit, metav1.ConditionFalse, reasonWithinLimits)
	w.waitFor(v1alpha1.ConditionFailedEvents, metav1.ConditionFalse, reasonNoFailedEvents)
	w.waitFor(v1alpha1.ConditionAvailable, metav1.ConditionTrue, reasonRelaysRunning)
	w.waitFor(v1alpha1.ConditionScalingLimited, metav1.ConditionFalse, reasonWithinLimits)

	w.says(o, pod, func(r *report.Report) {
		aged(31)(r)
		r.Backlog.Eligible, r.Backlog.Failed = 501, 2
	})
	w.waitFor(v1alpha1.ConditionBacklogWithinTarget, metav1.ConditionFalse, reasonBacklogOverTarget)
	w.waitFor(v1alpha1.ConditionBacklogOverLimit, metav1.ConditionTrue, reasonTooManyRows)
	w.waitFor(v1alpha1.ConditionFailedEvents, metav1.ConditionTrue, reasonEventsFailed)
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionTrue, reasonRelaysRunning)
	for _, reason := range []string{reasonBacklogOverTarget, reasonTooManyRows, reasonEventsFailed} {
		require.Equal(t, 1, w.events(reason), reason)
	}

	// Around the target it is one time of trouble.
	w.says(o, pod, aged(29))
	w.passes(2)
	require.True(t, meta.IsStatusConditionFalse(w.get().Status.Conditions, v1alpha1.ConditionBacklogWithinTarget))
	w.says(o, pod, aged(15))
	w.waitFor(v1alpha1.ConditionBacklogWithinTarget, metav1.ConditionTrue, reasonWithinTarget)

	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.Backlog.LimitRows = 1_000_000 })
	w.says(o, pod, func(r *report.Report) { r.Backlog.Eligible = r.Backlog.Cap })
	w.waitFor(v1alpha1.ConditionBacklogOverLimit, metav1.ConditionUnknown, reasonCountingStops)
	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.Backlog = v1alpha1.BacklogLimits{} })
	w.wait("no limit", func(o *v1alpha1.OutboxRelay) bool { return w.conditionOf(o, v1alpha1.ConditionBacklogOverLimit) == nil })
}

func TestScalingIsNotActiveInAnOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(quick)
	w.create(o)
	pod := w.pod(o, broker(report.Unreachable))
	w.startOperator()
	w.deployed(1)
	w.waitFor(v1alpha1.ConditionScalingActive, metav1.ConditionFalse, string(scaling.BrokerUnavailable))
	w.relays.set(pod.Status.PodIP+":8080", w.relays.nobody)
	w.waitFor(v1alpha1.ConditionScalingActive, metav1.ConditionUnknown, string(scaling.SampleUnavailable))
	w.waitFor(v1alpha1.ConditionFailedEvents, metav1.ConditionUnknown, reasonNotReported)
}
