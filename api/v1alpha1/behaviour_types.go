package v1alpha1

// TopicFrom says where a row's own topic is.
//
// +kubebuilder:validation:XValidation:rule="has(self.column) != has(self.template)",message="write exactly one of column and template"
type TopicFrom struct {
	// column holds the topic; NULL means spec.topic. This or template. A change
	// rolls the relays.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Column Name `json:"column,omitempty"`

	// template is a topic in which {column} stands for the row's value; at least
	// one does. This or column. A change rolls the relays.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9._-]*([{][^{}]{1,63}[}][a-zA-Z0-9._-]*)+$')",message="write a topic with at least one column in braces, such as outbox.event.{aggregatetype}"
	// +kubebuilder:validation:XValidation:rule="self.split('{').all(part, !part.contains('}') || (size(bytes(part.split('}')[0])) <= 63 && !part.contains('\\u0000')))",message="write columns of at most 63 bytes, without NUL"
	// +optional
	Template string `json:"template,omitempty"`
}

// The values of Ordering.Mode.
const (
	// OrderingNone: any order.
	OrderingNone = "None"
	// OrderingKey: an event is never published before an earlier one of its key.
	OrderingKey = "Key"
)

// Ordering says in which order events are published.
//
// +kubebuilder:validation:XValidation:rule="!has(self.onFailed) || (has(self.mode) && self.mode == 'Key')",message="onFailed is only for mode Key: write mode Key, or leave onFailed out"
type Ordering struct {
	// mode is None (any order) or Key (an event is never published before an
	// earlier one of its key). Unset: None. A change rolls the relays.
	// +kubebuilder:validation:Enum=None;Key
	// +optional
	Mode string `json:"mode,omitempty"`

	// onFailed says what a FAILED event does to later ones of its key: Halt
	// holds them back, Skip lets them go. Only with mode Key. Unset: Halt. A
	// change rolls the relays.
	// +kubebuilder:validation:Enum=Halt;Skip
	// +optional
	OnFailed string `json:"onFailed,omitempty"`
}

// Priority lets events with a higher priority go first.
//
// +kubebuilder:validation:XValidation:rule="!has(self.oldestPercent) || (has(self.enabled) && self.enabled)",message="oldestPercent is only for enabled: true"
type Priority struct {
	// enabled says whether. Unset: false. A change rolls the relays.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// oldestPercent is the share of each claim that goes to the rows that have
	// been due longest, whatever their priority. Only with enabled. Unset: 10. A
	// change rolls the relays.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	OldestPercent int32 `json:"oldestPercent,omitempty"`
}

// Retention says what becomes of published rows. FAILED rows always stay.
//
// +kubebuilder:validation:XValidation:rule="(has(self.policy) && self.policy == 'Delete') || (!has(self.sentSeconds) && !has(self.statuses))",message="sentSeconds and statuses are only for policy Delete: write policy Delete, or leave them out"
type Retention struct {
	// policy is Keep, or Delete after the window. Unset: Keep. A change rolls
	// the relays. Delete needs the DELETE grant and an index.
	// +kubebuilder:validation:Enum=Keep;Delete
	// +optional
	Policy string `json:"policy,omitempty"`

	// sentSeconds is the window since the row was published. Only with policy
	// Delete. Unset: 604800. A change rolls the relays.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	SentSeconds int32 `json:"sentSeconds,omitempty"`

	// statuses may be deleted, as the table has them: none that waits, is claimed
	// or has FAILED. Only with policy Delete; required with preset StatusCodes,
	// where what is SENT is not consumed yet. Unset: the SENT status. A change
	// rolls the relays.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="size(bytes(self)) <= 63 && !self.contains('\\u0000')",message="write at most 63 bytes, without NUL"
	// +listType=set
	// +optional
	Statuses []string `json:"statuses,omitempty"`
}

// The values of WakeUp.Mode.
const (
	// WakeUpPoll asks the table.
	WakeUpPoll = "Poll"
	// WakeUpNotify listens as well, and asks less often.
	WakeUpNotify = "Notify"
)

// WakeUp says how relays learn of new rows.
//
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'Notify') == has(self.channel)",message="mode Notify and channel belong together: write both, or neither"
type WakeUp struct {
	// mode is Poll, or Notify: poll less, and LISTEN as well. Unset: Poll. A
	// change rolls the relays.
	// +kubebuilder:validation:Enum=Poll;Notify
	// +optional
	Mode string `json:"mode,omitempty"`

	// channel is what a trigger of yours notifies. Required with mode Notify, and
	// only for it. A change rolls the relays.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Channel Name `json:"channel,omitempty"`
}
