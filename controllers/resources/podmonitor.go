package resources

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

// PodMonitorKind is the Prometheus operator's. Its types are not worth its modules.
var PodMonitorKind = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"}

// PodMonitor lets the Prometheus operator find the relays' metrics.
func PodMonitor(relay *v1alpha1.OutboxRelay) *unstructured.Unstructured {
	endpoint := map[string]any{"port": metricsPortName}
	if every := relay.Spec.PodMonitor.IntervalSeconds; every != 0 {
		endpoint["interval"] = fmt.Sprintf("%ds", every)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"selector":            map[string]any{"matchLabels": untyped(Selector(relay))},
		"podMetricsEndpoints": []any{endpoint},
	}}}
	object.SetGroupVersionKind(PodMonitorKind)
	object.SetNamespace(relay.Namespace)
	object.SetName(Name(relay))
	object.SetLabels(labels.Merge(values(relay.Spec.PodMonitor.Labels), childLabels(relay)))
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(relay, v1alpha1.SchemeGroupVersion.WithKind("OutboxRelay"))})
	return object
}

func untyped(set labels.Set) map[string]any {
	all := make(map[string]any, len(set))
	for name, value := range set {
		all[name] = value
	}
	return all
}
