package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OutboxReplay makes FAILED rows of one outbox wait for publication again, once,
// with a record of who wanted it and why. Without execute it only says which.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=obrp,categories=relayfleet
// +kubebuilder:printcolumn:name="Relay",type=string,JSONPath=`.spec.relay.name`
// +kubebuilder:printcolumn:name="Execute",type=boolean,JSONPath=`.spec.execute`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Selected",type=integer,JSONPath=`.status.selected`,description="rows that the selection has"
// +kubebuilder:printcolumn:name="Replayed",type=integer,JSONPath=`.status.replayed`,description="rows that wait for publication again"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Requested-By",type=string,JSONPath=`.spec.requestedBy`,priority=1
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.spec.reason`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 50 && !self.metadata.name.contains('.')",message="metadata.name: use at most 50 characters and '-' in place of '.', because a Job and its pod are named after it"
type OutboxReplay struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata. The name is at most 50
	// characters long and has no dot.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants. The operator never writes it.
	// +required
	Spec OutboxReplaySpec `json:"spec,omitzero"`

	// status is what has become of it.
	// +kubebuilder:default={"observedGeneration":-1}
	// +optional
	Status OutboxReplayStatus `json:"status,omitzero"`
}

// OutboxReplayList is a list of OutboxReplays.
//
// +kubebuilder:object:root=true
type OutboxReplayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []OutboxReplay `json:"items"`
}

// OutboxReplaySpec is what the user wants. What is done is told apart by
// namespace, name and what follows but suspend and execute: the same object
// applied again, in a rebuilt cluster too, does no row a second time.
//
// +kubebuilder:validation:XValidation:rule="self.relay == oldSelf.relay && self.selection == oldSelf.selection && self.reason == oldSelf.reason && self.requestedBy == oldSelf.requestedBy && has(self.republish) == has(oldSelf.republish) && (!has(self.republish) || self.republish == oldSelf.republish)",message="what is replayed, why and for whom cannot change: write another OutboxReplay; execute, suspend and the rate can"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.execute) && oldSelf.execute) || (has(self.execute) && self.execute)",message="execute cannot be taken back: write suspend: true to stop"
type OutboxReplaySpec struct {
	// relay is the OutboxRelay of the same namespace whose outbox it is about.
	// +required
	Relay ObjectReference `json:"relay,omitzero"`

	// selection says which rows. A row must match everything that is written.
	// +required
	Selection ReplaySelection `json:"selection,omitzero"`

	// execute says that it is to be done. Unset: false, and the status says how
	// many rows the selection has, and names some.
	// +optional
	Execute bool `json:"execute,omitempty"`

	// republish takes rows that are SENT in place of those that are FAILED, which
	// publishes them once more. Unset: false.
	// +optional
	Republish bool `json:"republish,omitempty"`

	// reason is why; it goes into the audit table.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +required
	Reason string `json:"reason,omitempty"`

	// requestedBy is who wants it, in their own words: nothing checks it. It goes
	// into the audit table.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +required
	RequestedBy string `json:"requestedBy,omitempty"`

	// rowsPerSecond bounds how fast it goes. Unset: 500.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +optional
	RowsPerSecond int32 `json:"rowsPerSecond,omitempty"`

	// activeDeadlineSeconds is how long it may run. What is done by then stays
	// done. Unset: 86400.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=604800
	// +optional
	ActiveDeadlineSeconds int64 `json:"activeDeadlineSeconds,omitempty"`

	// suspend stops it between two batches. What is done stays done; false goes
	// on with the rest. Unset: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ReplaySelection says which rows.
type ReplaySelection struct {
	// failedBefore takes rows that were FAILED (SENT, with republish) before then,
	// by the database's clock. It keeps rows out that fail only after somebody has
	// decided.
	// +required
	FailedBefore metav1.Time `json:"failedBefore,omitzero"`

	// ids are primary keys, as text. Unset: every row.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=200
	// +listType=set
	// +optional
	IDs []string `json:"ids,omitempty"`

	// keys are keys of events. Unset: every one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=500
	// +listType=set
	// +optional
	Keys []string `json:"keys,omitempty"`

	// errorPattern is what the recorded error is like, as in SQL: % stands for
	// anything, _ for one character. Unset: any.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +optional
	ErrorPattern string `json:"errorPattern,omitempty"`

	// limit is how many rows at most, the oldest first. Unset: 100000.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	// +optional
	Limit int64 `json:"limit,omitempty"`
}

// OutboxReplayStatus is what has become of it. What is absent is unknown, never
// zero.
type OutboxReplayStatus struct {
	// conditions are described in conditions.go.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that was processed last;
	// -1 before the first time.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// request is the hash that tells in the audit table what was done already.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Request string `json:"request,omitempty"`

	// selected is how many rows the selection has, at most its limit.
	// +optional
	Selected *int64 `json:"selected,omitempty"`

	// replayed is how many of them wait for publication again, or have by now been
	// published, because of this.
	// +optional
	Replayed *int64 `json:"replayed,omitempty"`

	// skipped is how many had changed before they could be replayed.
	// +optional
	Skipped *int64 `json:"skipped,omitempty"`

	// sample are primary keys of selected rows, the first ones.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=200
	// +optional
	Sample []string `json:"sample,omitempty"`

	// startedAt is when it first ran with execute.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// finishedAt is when it ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}
