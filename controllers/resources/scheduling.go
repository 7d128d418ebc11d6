package resources

import (
	corev1 "k8s.io/api/core/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

// schedule spreads the pods where that is possible, and puts them where the user
// wants them.
func schedule(spec *applycorev1.PodSpecApplyConfiguration, relay *v1alpha1.OutboxRelay) {
	for _, topology := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		spec.WithTopologySpreadConstraints(applycorev1.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(topology).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(applymetav1.LabelSelector().WithMatchLabels(Selector(relay))).
			WithMatchLabelKeys("pod-template-hash"))
	}
	wanted := relay.Spec.Pod.Scheduling
	if len(wanted.NodeSelector) > 0 {
		spec.WithNodeSelector(values(wanted.NodeSelector))
	}
	if wanted.PriorityClassName != "" {
		spec.WithPriorityClassName(wanted.PriorityClassName)
	}
	for _, t := range wanted.Tolerations {
		spec.WithTolerations(toleration(t))
	}
}

func toleration(t v1alpha1.Toleration) *applycorev1.TolerationApplyConfiguration {
	result := applycorev1.Toleration()
	if t.Key != "" {
		result.WithKey(t.Key)
	}
	if t.Operator != "" {
		result.WithOperator(corev1.TolerationOperator(t.Operator))
	}
	if t.Value != "" {
		result.WithValue(string(t.Value))
	}
	if t.Effect != "" {
		result.WithEffect(corev1.TaintEffect(t.Effect))
	}
	if t.TolerationSeconds != nil {
		result.WithTolerationSeconds(*t.TolerationSeconds)
	}
	return result
}
