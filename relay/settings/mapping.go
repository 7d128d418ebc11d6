package settings

// Mapping says which columns and values of the table mean what. Column names are
// verbatim, as PostgreSQL's catalogue has them.
type Mapping struct {
	// Preset is the table that the rest starts from; unset: Relayfleet.
	Preset Preset `json:"preset,omitempty"`
	// Columns and Statuses replace names and values of the preset. nil leaves the
	// preset's; an empty name says that the table has none.
	Columns  Columns  `json:"columns,omitzero"`
	Statuses Statuses `json:"statuses,omitzero"`
	// Headers are further columns that become headers.
	Headers []HeaderColumn `json:"headers,omitempty"`
}

// Preset names one of the tables that are described in docs/tables.
type Preset string

// The presets.
const (
	PresetRelayfleet  Preset = "Relayfleet"
	PresetLab         Preset = "Lab"
	PresetStatusCodes Preset = "StatusCodes"
	PresetToken       Preset = "Token"
	PresetDebezium    Preset = "Debezium"
)

// Columns are names by what they hold; for the meanings see outbox.Mapping.
type Columns struct {
	ID            *string `json:"id,omitempty"`
	EventID       *string `json:"eventID,omitempty"`
	Sequence      *string `json:"sequence,omitempty"`
	PartitionKey  *string `json:"partitionKey,omitempty"`
	Topic         *string `json:"topic,omitempty"`
	Key           *string `json:"key,omitempty"`
	Payload       *string `json:"payload,omitempty"`
	Headers       *string `json:"headers,omitempty"`
	ContentType   *string `json:"contentType,omitempty"`
	Priority      *string `json:"priority,omitempty"`
	Status        *string `json:"status,omitempty"`
	Generation    *string `json:"generation,omitempty"`
	ClaimToken    *string `json:"claimToken,omitempty"`
	Attempts      *string `json:"attempts,omitempty"`
	LeaseUntil    *string `json:"leaseUntil,omitempty"`
	NextAttemptAt *string `json:"nextAttemptAt,omitempty"`
	CreatedAt     *string `json:"createdAt,omitempty"`
	SentAt        *string `json:"sentAt,omitempty"`
	FailedAt      *string `json:"failedAt,omitempty"`
	LastError     *string `json:"lastError,omitempty"`
}

// Statuses are values of the status column, as text.
type Statuses struct {
	Ready      *string `json:"ready,omitempty"`
	InProgress *string `json:"inProgress,omitempty"`
	Sent       *string `json:"sent,omitempty"`
	Failed     *string `json:"failed,omitempty"`
}

// HeaderColumn makes a header of a column; NULL is none.
type HeaderColumn struct {
	Name   string `json:"name"`
	Column string `json:"column"`
}
