package v1alpha1

// Preset names a table that the documentation describes.
//
// +kubebuilder:validation:Enum=Relayfleet;Lab;StatusCodes;Token;Debezium
type Preset string

// The presets.
const (
	PresetRelayfleet  Preset = "Relayfleet"
	PresetLab         Preset = "Lab"
	PresetStatusCodes Preset = "StatusCodes"
	PresetToken       Preset = "Token"
	PresetDebezium    Preset = "Debezium"
)

// Mapping says which columns and values of the table mean what.
type Mapping struct {
	// preset is the table that the rest of the mapping starts from. Unset:
	// Relayfleet. A change rolls the relays.
	// +optional
	Preset Preset `json:"preset,omitempty"`

	// columns are names by what they hold. Unset: the preset's; an empty name
	// says that the table has no such column.
	// +optional
	Columns Columns `json:"columns,omitzero"`

	// statuses are values of the status column, as text.
	// +optional
	Statuses Statuses `json:"statuses,omitzero"`

	// headers are further columns that become headers; NULL is none.
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []HeaderColumn `json:"headers,omitempty"`
}

// HeaderColumn makes a header of a column.
type HeaderColumn struct {
	// name is the header's.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	// +required
	Name string `json:"name,omitempty"`

	// column is its value: text, uuid or a number.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Column string `json:"column,omitempty"`
}

// Columns are names by what they hold, verbatim. Without generation and
// claimToken there is no fence; one of them is needed.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.generation) && size(self.generation) == 0 && has(self.claimToken) && size(self.claimToken) == 0)",message="map generation or claimToken: a claim needs one of them as its fence"
type Columns struct {
	// id is primary key: bigint, integer, uuid or text.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ID *string `json:"id,omitempty"`

	// eventID is identity of the event: uuid, text, bigint or integer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	EventID *string `json:"eventID,omitempty"`

	// sequence is a number that rises with every insert; the order of ordering mode Key. Unset: the id, where that is a number.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Sequence *string `json:"sequence,omitempty"`

	// partitionKey is the column by which the table is partitioned.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	PartitionKey *string `json:"partitionKey,omitempty"`

	// topic is a row's own topic: text.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Topic *string `json:"topic,omitempty"`

	// key is the key: text, uuid, bigint or integer.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Key *string `json:"key,omitempty"`

	// payload is the payload: bytea, text, json or jsonb; NULL is a tombstone.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Payload *string `json:"payload,omitempty"`

	// headers is headers as a JSON object of strings: jsonb or json.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Headers *string `json:"headers,omitempty"`

	// contentType is the payload's media type: text. Unset: it follows from the payload's type.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ContentType *string `json:"contentType,omitempty"`

	// priority is a number; larger goes first, where priority is enabled.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Priority *string `json:"priority,omitempty"`

	// status is the state: text, a number or an enum.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Status *string `json:"status,omitempty"`

	// generation is counts claims: bigint.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Generation *string `json:"generation,omitempty"`

	// claimToken is random per claim: uuid or text. Without it a lost commit is fenced by the server's start time only.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ClaimToken *string `json:"claimToken,omitempty"`

	// attempts is charged by each claim: a number. Without it attempts are unlimited.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Attempts *string `json:"attempts,omitempty"`

	// leaseUntil is when a claim runs out: timestamptz.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	LeaseUntil *string `json:"leaseUntil,omitempty"`

	// nextAttemptAt is when a waiting row is due: timestamptz.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	NextAttemptAt *string `json:"nextAttemptAt,omitempty"`

	// createdAt is when the row was inserted: timestamptz. Without it attempts alone decide about FAILED.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	CreatedAt *string `json:"createdAt,omitempty"`

	// sentAt is when it was published: timestamptz. Without it that time goes into nextAttemptAt.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	SentAt *string `json:"sentAt,omitempty"`

	// failedAt is when it became FAILED: timestamptz. Without it that time goes into nextAttemptAt.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	FailedAt *string `json:"failedAt,omitempty"`

	// lastError is why it was refused last: text.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	LastError *string `json:"lastError,omitempty"`
}

// Statuses are values of the status column, as text.
type Statuses struct {
	// ready waits to be claimed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Ready *string `json:"ready,omitempty"`

	// inProgress is claimed. Empty: a claim is told by claimToken alone.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	InProgress *string `json:"inProgress,omitempty"`

	// sent is published.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Sent *string `json:"sent,omitempty"`

	// failed is given up. Empty: the table cannot say so, and permanent errors
	// are retried at the longest back-off.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Failed *string `json:"failed,omitempty"`
}
