// Package settings is a relay's configuration file: the one contract between
// the operator, which renders it, and the relay, which reads it. A relay
// without an operator reads the same file.
//
// A file is parsed, defaulted, validated as a whole, and read-only from then
// on. It carries a version and only the keys that are set; a key that the relay
// does not know is refused, because what it asks for would silently not happen.
// It carries no credentials, only the paths of files that do.
package settings

import (
	"crypto/sha256"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/yaml"
)

// Version is the version of the format.
const Version = 1

// Settings is the whole file. Durations are whole seconds with the unit in the
// key, as in the resource.
type Settings struct {
	Version int `json:"version"`
	// Fleet names whose relay this is; echoed in reports.
	Fleet Fleet `json:"fleet"`
	// Table is the outbox.
	Table Table `json:"table"`
	// Topic is where events without a topic of their own go. It may be empty
	// where TopicFrom or the preset names a topic for every row.
	Topic string `json:"topic,omitempty"`
	// TopicFrom is where a row's own topic is; unset: the mapping's column.
	TopicFrom TopicFrom `json:"topicFrom,omitzero"`
	// LeaseDurationSeconds is how long a claim holds. 5 to 3600; unset: 30.
	LeaseDurationSeconds int `json:"leaseDurationSeconds,omitempty"`
	// BatchSize is how many rows a claim takes at most. 1 to 10000; unset: 500.
	BatchSize int `json:"batchSize,omitempty"`
	// MaxClaimSeconds is how long a claim is renewed at most. The lease to 7200;
	// unset: four leases.
	MaxClaimSeconds int `json:"maxClaimSeconds,omitempty"`
	// MaxBytesInFlight bounds the payloads that the relay holds. 1 MiB to 1 GiB;
	// unset: 32 MiB.
	MaxBytesInFlight int64 `json:"maxBytesInFlight,omitempty"`

	Database  Database  `json:"database"`
	Kafka     Kafka     `json:"kafka"`
	Mapping   Mapping   `json:"mapping,omitzero"`
	Ordering  Ordering  `json:"ordering,omitzero"`
	Priority  Priority  `json:"priority,omitzero"`
	Retry     Retry     `json:"retry,omitzero"`
	Retention Retention `json:"retention,omitzero"`
	WakeUp    WakeUp    `json:"wakeUp,omitzero"`

	hash string
}

// Fleet is the identity of the resource that the relay belongs to. A relay
// without an operator may leave UID empty.
type Fleet struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// TopicFrom says where a row's own topic is: one of its fields.
type TopicFrom struct {
	// Column holds the topic; NULL means Settings.Topic.
	Column string `json:"column,omitempty"`
	// Template is a topic in which {column} stands for the row's value.
	Template string `json:"template,omitempty"`
}

// Table names the outbox verbatim, as PostgreSQL's catalogue has it.
type Table struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
}

// Retry says what happens after a refusal of the record itself. An event is
// FAILED when attempts and age are both used up.
type Retry struct {
	// MaxAttempts is 1 to 1000; unset: 10.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// BackoffSeconds is the wait after the first refusal; it doubles. Unset: 5.
	BackoffSeconds int `json:"backoffSeconds,omitempty"`
	// MaxBackoffSeconds is where doubling ends. Unset: 300.
	MaxBackoffSeconds int `json:"maxBackoffSeconds,omitempty"`
	// MaxAgeSeconds is how old an event must be to be FAILED. 0 means that
	// attempts alone decide; unset: 86400.
	MaxAgeSeconds *int `json:"maxAgeSeconds,omitempty"`
}

// Lease is LeaseDurationSeconds.
func (s Settings) Lease() time.Duration { return seconds(s.LeaseDurationSeconds) }

// Backoff is BackoffSeconds.
func (r Retry) Backoff() time.Duration { return seconds(r.BackoffSeconds) }

// MaxBackoff is MaxBackoffSeconds.
func (r Retry) MaxBackoff() time.Duration { return seconds(r.MaxBackoffSeconds) }

// MaxClaim is MaxClaimSeconds.
func (s Settings) MaxClaim() time.Duration { return seconds(s.MaxClaimSeconds) }

// MaxAge is MaxAgeSeconds.
func (r Retry) MaxAge() time.Duration {
	if r.MaxAgeSeconds == nil {
		return seconds(defaultMaxAgeSeconds)
	}
	return seconds(*r.MaxAgeSeconds)
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// Load reads, defaults and validates the file at path. The error names every
// problem at once, each with the path of its key.
func Load(path string) (Settings, error) {
	data, err := os.ReadFile(path) //nolint:gosec // The path is the operator's or the user's own choice.
	if err != nil {
		return Settings{}, fmt.Errorf("read settings: %w", err)
	}
	return Parse(data)
}

// Parse is Load for a file's content.
func Parse(data []byte) (Settings, error) {
	var s Settings
	if err := yaml.UnmarshalStrict(data, &s); err != nil {
		return Settings{}, fmt.Errorf("parse settings: %w", err)
	}
	s = s.withDefaults()
	if err := s.validate(); err != nil {
		return Settings{}, fmt.Errorf("settings: %w", err)
	}
	s.hash = Hash(data)
	return s, nil
}

// Render writes s as a file that Parse reads, with only the keys that are set.
// Equal settings render to equal bytes.
func Render(s Settings) ([]byte, error) {
	s.Version = Version
	data, err := yaml.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("render settings: %w", err)
	}
	return data, nil
}

// Hash tells rendered settings apart: the first digits of a digest of the file.
func Hash(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data))[:10] }

// Hash is the Hash of the file that s was parsed from.
func (s Settings) Hash() string { return s.hash }
