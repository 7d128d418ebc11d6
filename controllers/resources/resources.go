// Package resources builds the objects that belong to an OutboxRelay: a spec
// goes in, a whole apply configuration comes out. It is pure. A file per child.
//
// An apply configuration names exactly the fields that the operator means; what
// others add beside them (annotations, sidecars, a restart) stays.
package resources

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

const (
	// FieldOwner is the operator's name as a field manager, user agent and
	// source of events.
	FieldOwner = "relayfleet-controller"

	// LabelManagedBy selects everything that the operator has made, together
	// with its value FieldOwner. The operator caches nothing else.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelResource holds the uid of the OutboxRelay on its pods: a resource
	// that was deleted and made again does not take the old one's pods for its own.
	LabelResource = "outbox.relayfleet.io/resource-uid"

	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelPartOf    = "app.kubernetes.io/part-of"

	componentRelay = "relay"
	// ComponentReplay tells the pods of an OutboxReplay from relays.
	ComponentReplay = "replay"

	// ReportPort is where a relay serves its report and its probes.
	ReportPort = 8080
	// MetricsPort is where a relay serves its metrics.
	MetricsPort = 9090
	// ContainerName is the relay's container in its pod.
	ContainerName = "relay"
)

// Name is the name of a resource's Deployment and ServiceAccount. It has a
// suffix, because the application beside the outbox is often called the same.
func Name(relay *v1alpha1.OutboxRelay) string { return relay.Name + "-relay" }

// Selector selects the pods of a resource. It can never change, so it carries
// nothing that may.
func Selector(relay *v1alpha1.OutboxRelay) labels.Set {
	return labels.Set{
		labelName:      "relayfleet",
		labelInstance:  relay.Name,
		labelComponent: componentRelay,
	}
}

func childLabels(relay *v1alpha1.OutboxRelay) labels.Set {
	return labels.Merge(Selector(relay), labels.Set{labelPartOf: "relayfleet", LabelManagedBy: FieldOwner})
}

// values are labels or annotations without their type.
func values[V ~string](typed map[string]V) map[string]string {
	plain := make(map[string]string, len(typed))
	for name, value := range typed {
		plain[name] = string(value)
	}
	return plain
}

// ownerReference makes the child go with the resource.
func ownerReference(relay *v1alpha1.OutboxRelay) *applymetav1.OwnerReferenceApplyConfiguration {
	return applymetav1.OwnerReference().
		WithAPIVersion(v1alpha1.SchemeGroupVersion.String()).
		WithKind("OutboxRelay").
		WithName(relay.Name).
		WithUID(relay.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// Owns says whether the object is a child of the resource.
func Owns(relay *v1alpha1.OutboxRelay, object metav1.Object) bool {
	return metav1.IsControlledBy(object, relay)
}
