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
//
// +kubebuilder:validation:XValidation:rule="[self.?preset.orValue('Relayfleet')].all(preset, (self.?columns.?generation.hasValue() ? size(self.columns.generation) > 0 : preset != 'Token') || (self.?columns.?claimToken.hasValue() ? size(self.columns.claimToken) > 0 : preset != 'Lab'))",message="map columns.generation or columns.claimToken: a claim needs one of them as its fence"
// +kubebuilder:validation:XValidation:rule="[self.?preset.orValue('Relayfleet')].all(preset, (self.?statuses.?inProgress.hasValue() ? size(self.statuses.inProgress) > 0 : preset != 'Token') || (self.?columns.?claimToken.hasValue() ? size(self.columns.claimToken) > 0 : preset != 'Lab'))",message="map columns.claimToken where statuses.inProgress is empty: nothing else tells a claimed row"
// +kubebuilder:validation:XValidation:rule="[self.?preset.orValue('Relayfleet')].all(preset, [[self.?statuses.?ready.orValue({'StatusCodes': '0', 'Token': 'PENDING'}[?preset].orValue('READY')), self.?statuses.?inProgress.orValue({'StatusCodes': '1', 'Token': \"\"}[?preset].orValue('INPROGRESS')), self.?statuses.?sent.orValue({'StatusCodes': '2'}[?preset].orValue('SENT')), self.?statuses.?failed.orValue({'StatusCodes': '3', 'Lab': \"\"}[?preset].orValue('FAILED'))].filter(value, size(value) > 0)].all(values, values.all(value, values.exists_one(other, other == value))))",message="write four different statuses: two states with one value could not be told apart (what is unset is the preset's)"
// +kubebuilder:validation:XValidation:rule="[self.?preset.orValue('Relayfleet')].all(preset, [[self.?columns.?status.orValue({'StatusCodes': 'send_status'}[?preset].orValue('status')), self.?columns.?generation.orValue({'Token': \"\"}[?preset].orValue('generation')), self.?columns.?claimToken.orValue({'Lab': \"\"}[?preset].orValue('claim_token')), self.?columns.?attempts.orValue({'Lab': \"\"}[?preset].orValue('attempts')), self.?columns.?leaseUntil.orValue('lease_until'), self.?columns.?nextAttemptAt.orValue('next_attempt_at'), self.?columns.?sentAt.orValue({'Relayfleet': 'sent_at'}[?preset].orValue(\"\")), self.?columns.?failedAt.orValue({'Relayfleet': 'failed_at', 'Debezium': 'failed_at'}[?preset].orValue(\"\")), self.?columns.?lastError.orValue({'Lab': \"\"}[?preset].orValue('last_error'))].filter(name, size(name) > 0)].all(written, written.all(name, written.exists_one(other, other == name)) && ![self.?columns.?id.orValue({'Token': 'event_id'}[?preset].orValue('id')), self.?columns.?eventID.orValue({'Debezium': 'id'}[?preset].orValue('event_id')), self.?columns.?sequence.orValue({'Debezium': 'seq'}[?preset].orValue(\"\")), self.?columns.?partitionKey.orValue(\"\"), self.?columns.?key.orValue({'Relayfleet': 'key', 'Debezium': 'aggregateid'}[?preset].orValue('aggregate_key')), self.?columns.?payload.orValue('payload'), self.?columns.?createdAt.orValue({'Lab': \"\", 'Debezium': \"\"}[?preset].orValue('created_at'))].exists(name, size(name) > 0 && name in written)))",message="what a claim writes needs a column of its own: give status, generation, claimToken, attempts, leaseUntil, nextAttemptAt, sentAt, failedAt and lastError names that differ from each other and from id, eventID, sequence, partitionKey, key, payload and createdAt, or \"\" where the table has none (what is unset is the preset's)"
type Mapping struct {
	// preset is the table that the rest of the mapping starts from. Unset:
	// Relayfleet. A change rolls the relays.
	// +optional
	Preset Preset `json:"preset,omitempty"`

	// columns are names by what they hold. Unset: the preset's; an empty name
	// says that the table has no such column. A change rolls the relays.
	// +optional
	Columns Columns `json:"columns,omitzero"`

	// statuses are values of the status column, as text. Unset: the preset's. A
	// change rolls the relays.
	// +optional
	Statuses Statuses `json:"statuses,omitzero"`

	// headers are further columns that become headers; NULL is none. Unset: none.
	// A change rolls the relays.
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []HeaderColumn `json:"headers,omitempty"`
}

// Name is a name as PostgreSQL's catalogue has it, or a value of the status column.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="size(bytes(self)) <= 63",message="write at most 63 bytes: PostgreSQL cuts longer names, and letters outside ASCII take several bytes"
// +kubebuilder:validation:XValidation:rule="!self.contains('\\u0000')",message="write a name without NUL: PostgreSQL has no such character"
type Name = string

// HeaderColumn makes a header of a column.
type HeaderColumn struct {
	// name is the header's.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	// +required
	Name string `json:"name,omitempty"`

	// column is its value: text, uuid or a number.
	// +kubebuilder:validation:MinLength=1
	// +required
	Column Name `json:"column,omitempty"`
}

// Columns are names by what they hold, verbatim. An empty name says that the
// table has no such column; six of them must not be empty. Unset: the preset's.
type Columns struct {
	// id is the primary key: bigint, integer, uuid or text.
	// +kubebuilder:validation:MinLength=1
	// +optional
	ID *Name `json:"id,omitempty"`

	// eventID is the identity of the event: uuid, text, bigint or integer.
	// +kubebuilder:validation:MinLength=1
	// +optional
	EventID *Name `json:"eventID,omitempty"`

	// sequence is a number that rises with every insert: the order of ordering
	// mode Key. Empty: the id serves, where that is a number.
	// +optional
	Sequence *Name `json:"sequence,omitempty"`

	// partitionKey is the column by which the table is partitioned.
	// +optional
	PartitionKey *Name `json:"partitionKey,omitempty"`

	// topic is a row's own topic: text.
	// +optional
	Topic *Name `json:"topic,omitempty"`

	// key is the key: text, uuid, bigint or integer.
	// +optional
	Key *Name `json:"key,omitempty"`

	// payload is the payload: bytea, text, json or jsonb; NULL is a tombstone.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Payload *Name `json:"payload,omitempty"`

	// headers is a JSON object of strings: jsonb or json.
	// +optional
	Headers *Name `json:"headers,omitempty"`

	// contentType is the payload's media type: text. Empty: it follows from the
	// payload's type.
	// +optional
	ContentType *Name `json:"contentType,omitempty"`

	// priority is a number; larger goes first, where priority is enabled.
	// +optional
	Priority *Name `json:"priority,omitempty"`

	// status is the state: text, a number or an enum.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Status *Name `json:"status,omitempty"`

	// generation counts claims: bigint. This or claimToken.
	// +optional
	Generation *Name `json:"generation,omitempty"`

	// claimToken is random per claim: uuid or text. Without it a lost commit is
	// fenced by the server's start time only.
	// +optional
	ClaimToken *Name `json:"claimToken,omitempty"`

	// attempts is charged by each claim: a number. Without it attempts are
	// unlimited.
	// +optional
	Attempts *Name `json:"attempts,omitempty"`

	// leaseUntil is when a claim runs out: timestamptz.
	// +kubebuilder:validation:MinLength=1
	// +optional
	LeaseUntil *Name `json:"leaseUntil,omitempty"`

	// nextAttemptAt is when a waiting row is due: timestamptz.
	// +kubebuilder:validation:MinLength=1
	// +optional
	NextAttemptAt *Name `json:"nextAttemptAt,omitempty"`

	// createdAt is when the row was inserted: timestamptz. Without it attempts
	// alone decide about FAILED.
	// +optional
	CreatedAt *Name `json:"createdAt,omitempty"`

	// sentAt is when it was published: timestamptz. Without it that time goes
	// into nextAttemptAt.
	// +optional
	SentAt *Name `json:"sentAt,omitempty"`

	// failedAt is when it became FAILED: timestamptz. Without it that time goes
	// into nextAttemptAt.
	// +optional
	FailedAt *Name `json:"failedAt,omitempty"`

	// lastError is why it was refused last: text.
	// +optional
	LastError *Name `json:"lastError,omitempty"`
}

// Statuses are values of the status column, as text. Unset: the preset's.
type Statuses struct {
	// ready waits to be claimed.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Ready *Name `json:"ready,omitempty"`

	// inProgress is claimed. Empty: a claim is told by claimToken alone.
	// +optional
	InProgress *Name `json:"inProgress,omitempty"`

	// sent is published.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Sent *Name `json:"sent,omitempty"`

	// failed is given up. Empty: the table cannot say so, and permanent errors
	// are retried at the longest back-off.
	// +optional
	Failed *Name `json:"failed,omitempty"`
}
