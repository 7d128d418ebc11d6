package resources

import (
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

// ServiceAccount is the identity of the relays. It has no rights, and its token
// is mounted nowhere: a relay does not talk to the Kubernetes API.
func ServiceAccount(relay *v1alpha1.OutboxRelay) *applycorev1.ServiceAccountApplyConfiguration {
	return applycorev1.ServiceAccount(Name(relay), relay.Namespace).
		WithLabels(childLabels(relay)).
		WithOwnerReferences(ownerReference(relay)).
		WithAutomountServiceAccountToken(false)
}
