package resources

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	applypolicyv1 "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

// DisruptionBudget lets one relay at a time be evicted. A single one too: another
// takes its rows over after the lease, and a node must be drainable. Relays that are
// not ready protect nothing, so they may always go.
func DisruptionBudget(relay *v1alpha1.OutboxRelay) *applypolicyv1.PodDisruptionBudgetApplyConfiguration {
	return applypolicyv1.PodDisruptionBudget(Name(relay), relay.Namespace).
		WithLabels(childLabels(relay)).
		WithOwnerReferences(ownerReference(relay)).
		WithSpec(applypolicyv1.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithSelector(applymetav1.LabelSelector().WithMatchLabels(Selector(relay))).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
