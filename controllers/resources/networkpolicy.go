package resources

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	applynetworkingv1 "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

// defaultMetricsNamespace is where Prometheus is expected.
const defaultMetricsNamespace = "monitoring"

// manager are the labels of the operator's own pods, as config/install has them.
var manager = labels.Set{labelName: "relayfleet", labelComponent: "manager"}

// NetworkPolicy lets the operator ask relays and replays for their reports, and the
// monitoring ask for metrics. Where they connect to is not restricted: databases and
// brokers have addresses that no policy can name. Probes come from the node, which no
// policy keeps out.
func NetworkPolicy(relay *v1alpha1.OutboxRelay, operatorNamespace string) *applynetworkingv1.NetworkPolicyApplyConfiguration {
	// Namespace and pods stand in one entry: two would let in every pod of the
	// namespace, and pods with these labels anywhere.
	operator := applynetworkingv1.NetworkPolicyPeer().
		WithNamespaceSelector(namespace(operatorNamespace)).
		WithPodSelector(applymetav1.LabelSelector().WithMatchLabels(manager))
	monitoring := applynetworkingv1.NetworkPolicyPeer().
		WithNamespaceSelector(namespace(cmp.Or(relay.Spec.NetworkPolicy.MetricsNamespace, defaultMetricsNamespace)))
	return applynetworkingv1.NetworkPolicy(Name(relay), relay.Namespace).
		WithLabels(childLabels(relay)).
		WithOwnerReferences(ownerReference(relay)).
		WithSpec(applynetworkingv1.NetworkPolicySpec().
			WithPodSelector(relaysAndReplays(relay)).
			WithPolicyTypes(networkingv1.PolicyTypeIngress).
			WithIngress(
				applynetworkingv1.NetworkPolicyIngressRule().WithPorts(port(ReportPort)).WithFrom(operator),
				applynetworkingv1.NetworkPolicyIngressRule().WithPorts(port(MetricsPort)).WithFrom(monitoring)))
}

func relaysAndReplays(relay *v1alpha1.OutboxRelay) *applymetav1.LabelSelectorApplyConfiguration {
	selected := Selector(relay)
	delete(selected, labelComponent)
	return applymetav1.LabelSelector().WithMatchLabels(selected).WithMatchExpressions(
		applymetav1.LabelSelectorRequirement().WithKey(labelComponent).WithOperator(metav1.LabelSelectorOpIn).
			WithValues(componentRelay, ComponentReplay))
}

func namespace(name string) *applymetav1.LabelSelectorApplyConfiguration {
	return applymetav1.LabelSelector().WithMatchLabels(labels.Set{corev1.LabelMetadataName: name})
}

func port(number int32) *applynetworkingv1.NetworkPolicyPortApplyConfiguration {
	return applynetworkingv1.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(number))
}
