package controllers

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/resources"
)

// passes waits until the operator has asked the relays n times more: each of
// them wakes a pass.
func (w *world) passes(n int) {
	w.Helper()
	before := w.relays.asked.Load()
	require.Eventually(w, func() bool { return w.relays.asked.Load() >= before+int64(n) }, patience, pause)
}

func (w *world) settings() []corev1.ConfigMap {
	w.Helper()
	var list corev1.ConfigMapList
	require.NoError(w, admin.List(w.Context(), &list, client.InNamespace(w.namespace),
		client.MatchingLabels{resources.LabelManagedBy: resources.FieldOwner}))
	return list.Items
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox()
	w.create(o)
	w.pod(o, well)
	w.startOperator()
	w.deployed(1)
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionTrue, reasonRelaysRunning)
	w.waitFor(v1alpha1.ConditionBacklogKnown, metav1.ConditionTrue, reasonSampled)
	w.passes(1)

	versions := func() []string {
		var account corev1.ServiceAccount
		require.NoError(t, admin.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "orders-relay"}, &account))
		return []string{w.get().ResourceVersion, w.deployment().ResourceVersion, account.ResourceVersion, w.settings()[0].ResourceVersion}
	}
	before := versions()
	w.passes(3)
	require.Equal(t, before, versions())
}

// What others add to a child stays; what they take away or change of the
// operator's own fields comes back.
func TestOthersMayAddToAChildButNotChangeIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox()
	w.create(o)
	w.pod(o, well)
	w.startOperator()
	w.deployed(1)

	d := w.deployment()
	base := d.DeepCopy()
	d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:v1"})
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "7"}
	d.Spec.Replicas = new(int32(5))
	require.NoError(t, admin.Patch(t.Context(), d, client.MergeFrom(base)))

	require.Eventually(t, func() bool { return *w.deployment().Spec.Replicas == 1 }, patience, pause)
	w.passes(2)
	d = w.deployment()
	require.Equal(t, "now", d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"])
	require.Equal(t, "7", d.Annotations["deployment.kubernetes.io/revision"])
	require.Len(t, d.Spec.Template.Spec.Containers, 2)
	generation := d.Generation
	w.passes(2)
	require.Equal(t, generation, w.deployment().Generation)
}

func TestADeletedChildComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox())
	w.startOperator()
	w.deployed(1)
	uid := w.deployment().UID
	require.NoError(t, admin.Delete(t.Context(), w.deployment()))
	require.Eventually(t, func() bool {
		var d appsv1.Deployment
		err := admin.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "orders-relay"}, &d)
		return err == nil && d.UID != uid
	}, patience, pause)
}

func TestSomebodyElsesObjectIsNotTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	labels := map[string]string{"app": "theirs"}
	theirs := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "orders-relay"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "theirs:v1"}}},
			},
		},
	}
	w.create(theirs)
	w.create(w.outbox())
	w.startOperator()
	c := w.waitFor(v1alpha1.ConditionStalled, metav1.ConditionTrue, reasonForeignObject)
	require.Equal(t, `Deployment "orders-relay" exists and does not belong to this resource: `+
		`delete or rename it, or rename the resource`, c.Message)
	require.Equal(t, status.FailedStatus, w.kstatus())
	require.Equal(t, theirs.ResourceVersion, w.deployment().ResourceVersion)

	require.NoError(t, admin.Delete(t.Context(), theirs))
	w.wait("no longer stalled", func(o *v1alpha1.OutboxRelay) bool {
		for _, c := range o.Status.Conditions {
			if c.Type == v1alpha1.ConditionStalled {
				return false
			}
		}
		return true
	})
	require.EqualValues(t, 1, *w.deployment().Spec.Replicas)
}

func TestAChildThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox(func(o *v1alpha1.OutboxRelay) {
		o.Spec.Pod.Resources.Requests = resourceList("1Gi")
		o.Spec.Pod.Resources.Limits = resourceList("64Mi")
	}))
	w.startOperator()
	c := w.waitFor(v1alpha1.ConditionStalled, metav1.ConditionTrue, reasonChildRejected)
	require.Contains(t, c.Message, "spec.template.spec.containers[0].resources.requests")
	require.Equal(t, status.FailedStatus, w.kstatus())
}

func TestThreeSettingsAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox())
	w.startOperator()
	w.deployed(1)
	for batch := range int32(5) {
		o := w.get()
		base := o.DeepCopy()
		o.Spec.BatchSize = 100 + batch
		require.NoError(t, admin.Patch(t.Context(), o, client.MergeFrom(base)))
		w.wait("observed", func(got *v1alpha1.OutboxRelay) bool { return got.Status.ObservedGeneration == o.Generation })
		// The age of an object has whole seconds; the newest are to be told apart.
		time.Sleep(1100 * time.Millisecond)
	}
	require.Eventually(t, func() bool { return len(w.settings()) == 3 }, patience, pause)
	used := w.deployment().Spec.Template.Spec.Volumes[0].ConfigMap.Name
	var names []string
	for _, c := range w.settings() {
		require.True(t, *c.Immutable)
		names = append(names, c.Name)
	}
	require.Contains(t, names, used)
}

// Admission refuses what a relay would refuse, but an object that was stored before a
// rule came is still there. Not parallel: no other test runs while the rule is away.
func TestSettingsThatARelayWouldRefuseAreNotRolledOut(t *testing.T) { //nolint:paralleltest // See above.
	w := newWorld(t)
	w.create(w.outbox())
	stop := w.startOperator()
	w.deployed(1)
	before := w.deployment()
	stop()

	restore := withoutRulesOfColumn(t, "key")
	require.Eventually(t, func() bool {
		o := w.get()
		o.Spec.Mapping.Columns.Key = new("a\x00b")
		return admin.Update(t.Context(), o) == nil
	}, patience, pause, "the server works with the changed schema")
	restore()
	require.Eventually(t, func() bool {
		o := w.outbox(func(o *v1alpha1.OutboxRelay) { o.Name, o.Spec.Mapping.Columns.Key = "newer", new("a\x00b") })
		return admin.Create(t.Context(), o, client.DryRunAll) != nil
	}, patience, pause, "and with the old one again")

	w.startOperator()
	stalled := w.waitFor(v1alpha1.ConditionStalled, metav1.ConditionTrue, "SettingsInvalid")
	require.Contains(t, stalled.Message, "mapping.columns.key: must not contain a NUL byte")
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionFalse, "SettingsInvalid")
	require.Equal(t, before.Generation, w.deployment().Generation)

	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.Mapping.Columns.Key = nil })
	w.wait("no Stalled any more", func(o *v1alpha1.OutboxRelay) bool {
		return meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionStalled) == nil
	})
}

// withoutRulesOfColumn takes the rules of a mapped column out of the CRD, as an older
// one lacks them, until restore is called.
func withoutRulesOfColumn(t *testing.T, column string) (restore func()) {
	t.Helper()
	change := func(rules any) (before any) {
		crd := &unstructured.Unstructured{}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		require.NoError(t, admin.Get(context.Background(), client.ObjectKey{Name: "outboxrelays.outbox.relayfleet.io"}, crd))
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		require.NoError(t, err)
		schema, found, err := unstructured.NestedFieldNoCopy(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties",
			"spec", "properties", "mapping", "properties", "columns", "properties", column)
		require.NoError(t, err)
		require.True(t, found)
		const key = "x-kubernetes-validations"
		before = schema.(map[string]any)[key]
		delete(schema.(map[string]any), key)
		if rules != nil {
			schema.(map[string]any)[key] = rules
		}
		require.NoError(t, unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"))
		require.NoError(t, admin.Update(context.Background(), crd))
		return before
	}
	rules := change(nil)
	require.NotNil(t, rules)
	restore = sync.OnceFunc(func() { change(rules) })
	t.Cleanup(restore)
	return restore
}
