package settings

// Ordering says in which order events are published.
type Ordering struct {
	// Mode is OrderNone unless it is set.
	Mode OrderingMode `json:"mode,omitempty"`
	// OnFailed is Halt unless it is set; only with OrderKey.
	OnFailed OnFailed `json:"onFailed,omitempty"`
}

// OrderingMode is an order of publication.
type OrderingMode string

const (
	// OrderNone: any order. The default.
	OrderNone OrderingMode = "None"
	// OrderKey: an event is never first published before an earlier unresolved
	// one of its key.
	OrderKey OrderingMode = "Key"
)

// OnFailed says what a FAILED event does to later ones of its key.
type OnFailed string

const (
	// Halt holds them back until somebody repairs it. The default.
	Halt OnFailed = "Halt"
	// Skip lets them go.
	Skip OnFailed = "Skip"
)

// Priority lets events with a higher priority go first.
type Priority struct {
	Enabled bool `json:"enabled,omitempty"`
	// OldestPercent is the share of each claim that goes to the rows that have
	// been due longest. 1 to 50; unset: 10.
	OldestPercent int `json:"oldestPercent,omitempty"`
}

// Retention says what becomes of published rows.
type Retention struct {
	// Policy is RetentionKeep unless it is set.
	Policy RetentionPolicy `json:"policy,omitempty"`
	// SentSeconds is the window since the row was published. 60 to 31536000;
	// unset: 604800, a week.
	SentSeconds int `json:"sentSeconds,omitempty"`
	// Statuses may be deleted, as the table has them; unset: the SENT status.
	Statuses []string `json:"statuses,omitempty"`
}

// RetentionPolicy is a kind of Retention.
type RetentionPolicy string

const (
	// RetentionKeep deletes nothing. The default.
	RetentionKeep RetentionPolicy = "Keep"
	// RetentionDelete deletes published rows after the window.
	RetentionDelete RetentionPolicy = "Delete"
)

// WakeUp says how a relay learns of new rows.
type WakeUp struct {
	// Mode is WakeUpPoll unless it is set.
	Mode WakeUpMode `json:"mode,omitempty"`
	// Channel is what a trigger of the user's notifies; with WakeUpNotify.
	Channel string `json:"channel,omitempty"`
}

// WakeUpMode is a kind of WakeUp.
type WakeUpMode string

const (
	// WakeUpPoll asks the table. The default.
	WakeUpPoll WakeUpMode = "Poll"
	// WakeUpNotify listens as well, and asks less often.
	WakeUpNotify WakeUpMode = "Notify"
)
