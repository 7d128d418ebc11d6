package controllers

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/relay/report"
)

// quick is a policy that decides at every report.
func quick(o *v1alpha1.OutboxRelay) {
	o.Spec.Scaling = v1alpha1.Scaling{
		MaxReplicas: 7, ScaleUpWindowSeconds: new(int32(0)), ScaleDownWindowSeconds: 10, CooldownSeconds: new(int32(0)),
	}
}

func (w *world) desired(n int32) *v1alpha1.OutboxRelay {
	w.Helper()
	return w.wait("a size", func(o *v1alpha1.OutboxRelay) bool {
		return o.Status.Scaling != nil && *o.Status.Scaling.DesiredReplicas == n
	})
}

func TestTheSizeFollowsTheAge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(quick)
	w.create(o)
	pod := w.pod(o, aged(90))
	w.startOperator()
	w.deployed(1)
	got := w.desired(2)
	// On a busy machine it is a poll later.
	require.Regexp(t, `^oldest eligible row 90 s, over the target of 30 s for \d+ s: from 1 to 2 relays$`, got.Status.Scaling.Message)
	require.NotNil(t, got.Status.Scaling.LastScaleTime)
	require.Eventually(t, func() bool { return *w.deployment().Spec.Replicas == 2 }, patience, pause)

	// The second relay has not started: no third before it has.
	w.passes(2)
	require.EqualValues(t, 2, *w.get().Status.Scaling.DesiredReplicas)
	w.deployed(2)
	w.desired(4)
	w.deployed(4)
	w.desired(7)
	w.deployed(7)
	got = w.wait("limited", func(o *v1alpha1.OutboxRelay) bool { return o.Status.Scaling.LimitedBy == "MaxReplicas" })
	require.EqualValues(t, 11, *got.Status.Scaling.RecommendedReplicas)

	w.says(o, pod, aged(0))
	w.desired(6)
	require.Equal(t, o.Generation, w.get().Generation, "the spec is the user's")
	require.Equal(t, 1, w.events("BacklogLow"))
}

func TestABrokerOutageHoldsTheSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(quick)
	w.create(o)
	w.pod(o, func(r *report.Report) { aged(600)(r); broker(report.Unreachable)(r) })
	w.startOperator()
	w.deployed(1)
	w.wait("held", func(o *v1alpha1.OutboxRelay) bool {
		return o.Status.Scaling != nil && o.Status.Scaling.Reason == "BrokerUnavailable"
	})
	w.passes(3)
	got := w.get()
	require.EqualValues(t, 1, *got.Status.Scaling.DesiredReplicas)
	require.True(t, meta.IsStatusConditionTrue(got.Status.Conditions, v1alpha1.ConditionReady), "an outage is not unready")
}

// A new operator knows nothing, and nobody answers it: the fleet stays as it is.
func TestARestartKeepsTheSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(quick)
	w.create(o)
	pod := w.pod(o, aged(90))
	stop := w.startOperator()
	w.deployed(1)
	w.desired(2)
	w.deployed(2)
	w.desired(4)
	stop()
	before := w.get().Status.Scaling

	w.relays.set(pod.Status.PodIP+":8080", w.relays.nobody)
	w.startOperator()
	w.waitFor(v1alpha1.ConditionBacklogKnown, metav1.ConditionFalse, reasonNoRelayAnswers)
	w.passes(3)
	after := w.get().Status.Scaling
	require.EqualValues(t, 4, *after.DesiredReplicas)
	require.Equal(t, before.LastScaleTime, after.LastScaleTime)
	require.EqualValues(t, 4, *w.deployment().Spec.Replicas)
}

// The Deployment was written and the status was not: the larger one counts.
func TestARestartBetweenTwoWritesKeepsTheLargerSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox(quick))
	stop := w.startOperator()
	w.deployed(1)
	w.desired(1)
	stop()
	d := w.deployment()
	d.Spec.Replicas = new(int32(3))
	require.NoError(t, admin.Update(t.Context(), d))
	w.startOperator()
	w.desired(3)
	require.EqualValues(t, 3, *w.deployment().Spec.Replicas)
}

func TestAChangedBoundCountsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox(quick))
	w.startOperator()
	w.desired(1)
	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.Scaling.MinReplicas = 3 })
	w.desired(3)
}
