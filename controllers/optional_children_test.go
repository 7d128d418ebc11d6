package controllers

import (
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/resources"
)

// change edits the spec as a user does, whatever else is written meanwhile, and returns the result.
func (w *world) change(edit func(*v1alpha1.OutboxRelaySpec)) *v1alpha1.OutboxRelay {
	w.Helper()
	o := w.get()
	before := o.DeepCopy()
	edit(&o.Spec)
	require.NoError(w, admin.Patch(w.Context(), o, client.MergeFrom(before)))
	return o
}

// child reads an object of the name that children have, and says whether it is there.
func (w *world) child(object client.Object) bool {
	w.Helper()
	err := admin.Get(w.Context(), types.NamespacedName{Namespace: w.namespace, Name: "orders-relay"}, object)
	require.NoError(w, client.IgnoreNotFound(err))
	return err == nil
}

func TestADisruptionBudgetLetsOneRelayGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox())
	w.startOperator()
	var budget policyv1.PodDisruptionBudget
	require.Eventually(t, func() bool { return w.child(&budget) }, patience, pause)
	require.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
	require.Equal(t, policyv1.AlwaysAllow, *budget.Spec.UnhealthyPodEvictionPolicy)

	// What somebody takes away comes back.
	require.NoError(t, admin.Delete(t.Context(), &budget))
	require.Eventually(t, func() bool { return w.child(&budget) && budget.DeletionTimestamp == nil }, patience, pause)
}

func TestANetworkPolicyComesAndGoesWithTheSpec(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox(func(o *v1alpha1.OutboxRelay) { o.Spec.NetworkPolicy.Mode = v1alpha1.ModeCreate }))
	w.startOperator()
	var policy networkingv1.NetworkPolicy
	require.Eventually(t, func() bool { return w.child(&policy) }, patience, pause)
	require.Len(t, policy.Spec.Ingress[0].From, 1, "namespace and pods are one entry")
	require.Equal(t, "relayfleet-system", policy.Spec.Ingress[0].From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
	require.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.Spec.PolicyTypes, "egress is open")

	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.NetworkPolicy = v1alpha1.NetworkPolicy{} })
	require.Eventually(t, func() bool { return !w.child(&policy) }, patience, pause)
}

func TestANetworkPolicyOfOthersIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "orders-relay", Labels: map[string]string{resources.LabelManagedBy: resources.FieldOwner},
	}})
	o := w.outbox()
	w.create(o)
	w.pod(o, well)
	w.startOperator()
	w.deployed(1)
	w.passes(2)
	require.True(t, w.child(&networkingv1.NetworkPolicy{}))
	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.NetworkPolicy.Mode = v1alpha1.ModeCreate })
	w.waitFor(v1alpha1.ConditionStalled, metav1.ConditionTrue, reasonForeignObject)
}

// podMonitors is the least of the Prometheus operator's definition.
func podMonitors() *apiextensionsv1.CustomResourceDefinition {
	kind := resources.PodMonitorKind
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "podmonitors." + kind.Group, Annotations: map[string]string{
			"api-approved.kubernetes.io": "unapproved, a test",
		}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "podmonitors", Kind: kind.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

// The relays run whether or not the cluster has the kind, and the mistake is named.
func TestAPodMonitorComesAndGoesWithTheSpec(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox(func(o *v1alpha1.OutboxRelay) { o.Spec.PodMonitor.Mode = v1alpha1.ModeCreate }))
	w.startOperator()
	w.deployed(1)
	w.waitFor(v1alpha1.ConditionStalled, metav1.ConditionTrue, reasonPodMonitorUnknown)

	scheme := runtime.NewScheme()
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	definitions, err := client.New(adminConfig, client.Options{Scheme: scheme})
	require.NoError(t, err)
	require.NoError(t, definitions.Create(t.Context(), podMonitors()))
	monitor := &unstructured.Unstructured{}
	monitor.SetGroupVersionKind(resources.PodMonitorKind)
	served := func() bool {
		err := admin.List(t.Context(), listOf(monitor), client.InNamespace(w.namespace))
		return err == nil
	}
	require.Eventually(t, served, patience, pause)

	w.change(func(s *v1alpha1.OutboxRelaySpec) {
		s.PodMonitor.IntervalSeconds, s.PodMonitor.Labels = 15, map[string]v1alpha1.LabelValue{"release": "prometheus"}
	})
	require.Eventually(t, func() bool { return w.child(monitor) }, patience, pause)
	require.Equal(t, "prometheus", monitor.GetLabels()["release"])
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "podMetricsEndpoints")
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"port": "metrics", "interval": "15s"}}, endpoints)
	w.wait("not stalled", func(o *v1alpha1.OutboxRelay) bool {
		return o.Status.ObservedGeneration == o.Generation && w.conditionOf(o, v1alpha1.ConditionStalled) == nil
	})

	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.PodMonitor = v1alpha1.PodMonitor{} })
	require.Eventually(t, func() bool { return !w.child(monitor) }, patience, pause)
}

func listOf(object *unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(object.GroupVersionKind())
	return list
}
