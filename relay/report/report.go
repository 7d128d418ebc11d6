// Package report is what a relay tells the operator about itself and about its
// table: versioned JSON of at most MaxBytes, served at Path.
//
// Whoever reads a report believes nothing: values are hints, to be clamped;
// what is absent is unknown, never zero; a report counts only for the resource
// and the pod whose identity it echoes. It carries codes and numbers, never a
// sentence and never a secret: sentences are the operator's own.
package report

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	// Version is the version of the format. A reader takes no other.
	Version = 1
	// Path is where a relay serves its report.
	Path = "/v1/report"
	// MaxBytes bounds a report; a reader reads no further.
	MaxBytes = 4096
	// MaxFindings bounds Report.Findings.
	MaxFindings = 10
)

// Report is one relay's view at the moment of asking.
type Report struct {
	Version int `json:"version"`
	// Namespace and Resource (its uid) name whose relay this is; Pod is the uid
	// of the pod. Addresses are reused, identities are not.
	Namespace string `json:"namespace"`
	Resource  string `json:"resource"`
	Pod       string `json:"pod"`
	// Settings is the hash of the settings that the relay runs with.
	Settings string `json:"settings"`
	// Build is the relay's version.
	Build string `json:"build"`
	State State  `json:"state"`

	Database Health `json:"database"`
	Schema   Health `json:"schema"`
	Broker   Health `json:"broker"`

	// Partitions is how many partitions the fleet's topic has; 0: unknown, or the
	// fleet has no topic of its own.
	Partitions int64 `json:"partitions,omitempty"`
	// Backlog is nil until the table could be looked at.
	Backlog *Backlog `json:"backlog,omitempty"`
	// Limits name what the table cannot record, so that what needs it is off.
	Limits []string `json:"limits,omitempty"`
	// Findings are what the newest look at the table as a whole has found, at most
	// MaxFindings; nil until there was one.
	Findings []Code `json:"findings,omitempty"`
	// Notifications is OK, NotHeard or NotAnnounced; empty: not asked for, or not
	// known yet.
	Notifications Code `json:"notifications,omitempty"`
	// Rates are this relay's own; readers add those of several relays up.
	Rates Rates `json:"rates"`
	// Latencies are this relay's own, of the last minute.
	Latencies Latencies `json:"latencies"`
}

// The limits.
const (
	// LimitAttempts: attempts are not counted, so that they are never used up.
	LimitAttempts = "attempts"
	// LimitFailed: nothing can be FAILED; what is refused for good is tried again
	// after the longest wait.
	LimitFailed = "failed"
	// LimitAge: nobody knows how old an event is; attempts alone decide.
	LimitAge = "age"
	// LimitToken: claims have no random fence and no mark of a lone event, so that
	// no event is FAILED because its relays died.
	LimitToken = "token"
)

// Latencies say how long the parts of a batch's life took in the last minute, in
// milliseconds, rounded up; absent is unknown.
type Latencies struct {
	ClaimMillis  *Latency `json:"claim,omitempty"`
	SendMillis   *Latency `json:"send,omitempty"`
	SettleMillis *Latency `json:"settle,omitempty"`
}

// Latency is the middle, the slow hundredth and the worst of many. The first two
// are not more than two fifths too large, and never too small.
type Latency struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// State says what the relay is doing.
type State string

const (
	// Waiting: something is missing or out of reach; Database, Schema and Broker
	// say what. Nothing is claimed.
	Waiting State = "Waiting"
	// Running: it claims and publishes.
	Running State = "Running"
	// Stopping: it claims no more and ends what it holds.
	Stopping State = "Stopping"
)

// Health is what a relay knows of one thing that it depends on.
type Health struct {
	Code Code `json:"code"`
	// Slots name what the code is about: columns of the mapping, or "uri" and "ca"
	// for files of credentials.
	Slots []string `json:"slots,omitempty"`
	// ForSeconds is how long the code has been the same.
	ForSeconds int64 `json:"forSeconds"`
}

// Backlog is the newest look at the table; see event.Backlog for the meanings.
type Backlog struct {
	// AgeSeconds is how long ago the look was taken, by the relay's own clock.
	AgeSeconds               float64 `json:"ageSeconds"`
	OldestEligibleAgeSeconds float64 `json:"oldestEligibleAgeSeconds"`
	OldestUnsentAgeSeconds   float64 `json:"oldestUnsentAgeSeconds"`
	Eligible                 int64   `json:"eligible"`
	InFlight                 int64   `json:"inFlight"`
	ExpiredLeases            int64   `json:"expiredLeases"`
	Failed                   int64   `json:"failed"`
	Cap                      int64   `json:"cap"`
	// ArrivalsPerMinute counts inserts, those of rolled-back transactions too; nil
	// until two looks can be compared.
	ArrivalsPerMinute *float64  `json:"arrivalsPerMinute,omitempty"`
	SampledAt         time.Time `json:"sampledAt"`
}

// Rates count what this relay did in the last minute, row by row.
type Rates struct {
	Published   int64 `json:"published"`
	Retried     int64 `json:"retried"`
	Failed      int64 `json:"failed"`
	Released    int64 `json:"released"`
	Reclaimed   int64 `json:"reclaimed"`
	Stale       int64 `json:"stale"`
	Overtaken   int64 `json:"overtaken"`
	AlreadyMine int64 `json:"alreadyMine"`
	Abandoned   int64 `json:"abandoned"`
	Suspected   int64 `json:"suspected"`
	Batches     int64 `json:"batches"`
	FullBatches int64 `json:"fullBatches"`
	// Hinted counts the waits for rows that a notification has ended.
	Hinted int64 `json:"hinted"`
}

// Add adds the counts of o.
func (r Rates) Add(o Rates) Rates {
	return Rates{
		Published: r.Published + o.Published, Retried: r.Retried + o.Retried, Failed: r.Failed + o.Failed,
		Released: r.Released + o.Released, Reclaimed: r.Reclaimed + o.Reclaimed, Stale: r.Stale + o.Stale,
		Overtaken: r.Overtaken + o.Overtaken, AlreadyMine: r.AlreadyMine + o.AlreadyMine, Abandoned: r.Abandoned + o.Abandoned,
		Suspected: r.Suspected + o.Suspected,
		Batches:   r.Batches + o.Batches, FullBatches: r.FullBatches + o.FullBatches, Hinted: r.Hinted + o.Hinted,
	}
}

// Encode renders r, at most MaxBytes long.
func Encode(r Report) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("encode report: %d bytes are more than %d", len(data), MaxBytes)
	}
	return data, nil
}

// Decode reads a report of this version. Keys that it does not know are passed
// over, so that a newer relay can be read by an older operator.
func Decode(data []byte) (Report, error) {
	var r Report
	if len(data) > MaxBytes {
		return Report{}, fmt.Errorf("decode report: more than %d bytes", MaxBytes)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return Report{}, fmt.Errorf("decode report: %w", err)
	}
	if r.Version != Version {
		return Report{}, fmt.Errorf("decode report: version %d is not %d", r.Version, Version)
	}
	return r, nil
}
