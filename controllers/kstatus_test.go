package controllers

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/relay/report"
)

// Whoever waits for the resource is told right at every moment of its life, not
// only at its stations: each version that the API server ever had is judged.
func TestKstatusIsRightAtEveryMomentOfALife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox()
	w.create(o)
	life := w.watchLife()
	life.expect(status.InProgressStatus) // Nobody has looked yet.

	w.startOperator()
	w.waitFor(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reasonRolloutInProgress)
	pod := w.pod(o, well)
	w.deployed(1)
	life.expect(status.CurrentStatus)

	w.says(o, pod, broker(report.Unreachable))
	w.waitFor(v1alpha1.ConditionBrokerReachable, metav1.ConditionFalse, "BrokerUnreachable")
	w.says(o, pod, database(report.Unreachable))
	w.waitFor(v1alpha1.ConditionDatabaseReachable, metav1.ConditionFalse, "DatabaseUnreachable")
	w.says(o, pod, well)
	w.waitFor(v1alpha1.ConditionDatabaseReachable, metav1.ConditionTrue, reasonReachable)

	w.says(o, pod, database(report.PoolingMismatch))
	life.expect(status.FailedStatus)
	w.says(o, pod, well)
	life.expect(status.CurrentStatus)

	o = w.change(func(s *v1alpha1.OutboxRelaySpec) { s.BatchSize = 7 })
	life.expect(status.InProgressStatus)
	w.wait("the new template", func(got *v1alpha1.OutboxRelay) bool {
		return got.Status.ObservedGeneration == o.Generation
	})
	w.deployed(1)
	life.expect(status.CurrentStatus)

	// Nobody collects garbage here, so a deletion in the foreground does not end.
	require.NoError(t, admin.Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	life.expect(status.TerminatingStatus)
}

// life is what kstatus says of each version of a resource, without repetitions.
type life struct {
	*world
	mu      sync.Mutex
	stages  []status.Status
	wanted  []status.Status
	strange []string
}

func (w *world) watchLife() *life {
	w.Helper()
	watcher, err := client.NewWithWatch(operator, client.Options{Scheme: admin.Scheme()})
	require.NoError(w, err)
	watch, err := watcher.Watch(w.Context(), &v1alpha1.OutboxRelayList{}, client.InNamespace(w.namespace))
	require.NoError(w, err)
	l := &life{world: w}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watch.ResultChan() {
			if o, ok := event.Object.(*v1alpha1.OutboxRelay); ok {
				l.see(o)
			}
		}
	}()
	w.Cleanup(func() { watch.Stop(); <-ended })
	return l
}

func (l *life) see(o *v1alpha1.OutboxRelay) {
	l.mu.Lock()
	defer l.mu.Unlock()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		l.strange = append(l.strange, err.Error())
		return
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		l.strange = append(l.strange, err.Error())
		return
	}
	if n := len(l.stages); n == 0 || l.stages[n-1] != result.Status {
		l.stages = append(l.stages, result.Status)
	}
	l.strange = append(l.strange, irregularities(o)...)
}

// irregularities are what no status may have, whatever happens.
func irregularities(o *v1alpha1.OutboxRelay) (found []string) {
	if o.Status.ObservedGeneration < 0 {
		return nil
	}
	if meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionReady) == nil {
		found = append(found, "no Ready")
	}
	for _, kind := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if c := meta.FindStatusCondition(o.Status.Conditions, kind); c != nil && c.Status != metav1.ConditionTrue {
			found = append(found, kind+" is present and not True")
		}
	}
	if meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionReconciling) &&
		meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionStalled) {
		found = append(found, "Reconciling and Stalled")
	}
	for _, c := range o.Status.Conditions {
		if c.Reason == "" || c.Message == "" || c.ObservedGeneration > o.Generation {
			found = append(found, "condition "+c.Type+" is incomplete")
		}
	}
	return found
}

// expect waits for the next stage, and that no other one came between.
func (l *life) expect(next status.Status) {
	l.Helper()
	l.wanted = append(l.wanted, next)
	l.wait("kstatus "+next.String(), func(*v1alpha1.OutboxRelay) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.stages) >= len(l.wanted)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Equal(l, l.wanted, l.stages)
	require.Empty(l, l.strange)
}
