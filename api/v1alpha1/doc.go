// Package v1alpha1 is the API that users write: OutboxRelay, a fleet of relays
// for one outbox table.
//
// Optional fields carry no schema default: what is unset stays unset in the
// stored object, so that a tool which compares it with its source sees no drift,
// and what it means may improve. Effective returns the meaning, and status shows it.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +groupName=outbox.relayfleet.io
package v1alpha1
