package controllers

import (
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

// Of two operators one works; when it ends it gives its lease back, and the
// other one goes on. Both have no more than the generated roles.
func TestTheNextLeaderGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	elect := func(o *Options) {
		o.LeaderElection = true
		o.Pod = types.NamespacedName{Namespace: "relayfleet-system"}
	}
	w.create(w.outbox())
	stop := w.startOperator(elect)
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionFalse, reasonRelaysNotReady)
	holder := func() string {
		var lease coordinationv1.Lease
		key := types.NamespacedName{Namespace: "relayfleet-system", Name: leaderElectionID}
		require.NoError(w, admin.Get(w.Context(), key, &lease))
		if lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	first := holder()
	require.NotEmpty(t, first)

	w.startOperator(elect)
	stop()
	o := w.change(func(s *v1alpha1.OutboxRelaySpec) { s.BatchSize = 7 })
	w.wait("observed by the next", func(got *v1alpha1.OutboxRelay) bool { return got.Status.ObservedGeneration == o.Generation })
	require.NotEqual(t, first, holder())
}
