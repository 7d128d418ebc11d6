package controllers

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

func TestAFleetFromTheFirstPassToReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox())
	o := w.get()
	require.EqualValues(t, -1, o.Status.ObservedGeneration)
	require.Equal(t, status.InProgressStatus, w.kstatus(), "before anybody has looked")

	w.startOperator()
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionFalse, reasonRelaysNotReady)
	require.Equal(t, status.InProgressStatus, w.kstatus())
	w.waitFor(v1alpha1.ConditionBacklogKnown, metav1.ConditionUnknown, reasonWaitingForRelays)
	require.EqualValues(t, 1, *w.deployment().Spec.Replicas)
	require.Equal(t, "relayfleet:test", w.get().Status.Image)

	w.pod(o, well)
	w.deployed(1)
	o = w.wait("ready, with a backlog", func(o *v1alpha1.OutboxRelay) bool {
		return meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionReady) &&
			meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionBacklogKnown)
	})
	require.Equal(t, status.CurrentStatus, w.kstatus())
	require.EqualValues(t, 1, *o.Status.Backlog.OldestEligibleAgeSeconds)
	require.EqualValues(t, 3, *o.Status.Backlog.Eligible)
	require.EqualValues(t, 1, *o.Status.Scaling.DesiredReplicas)
	require.EqualValues(t, 30, o.Status.Scaling.Effective.TargetBacklogAgeSeconds)
	require.Nil(t, meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionReconciling))
	for _, c := range []string{
		v1alpha1.ConditionDatabaseReachable, v1alpha1.ConditionSchemaValid, v1alpha1.ConditionBrokerReachable,
	} {
		require.True(t, meta.IsStatusConditionTrue(o.Status.Conditions, c), c)
	}
}
