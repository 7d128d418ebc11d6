package outbox

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Mapping says which columns and values of a table mean what. Names are verbatim,
// as PostgreSQL's catalogue has them. An empty name says that the table has no
// such column, and what needs it is off.
type Mapping struct {
	// ID is the primary key.
	ID string
	// EventID is the identity of the event: the same in every attempt.
	EventID string
	// Sequence rises with every insert; empty: ID is used.
	Sequence string
	// PartitionKey is the column by which the table is partitioned.
	PartitionKey string

	// Topic is a row's own topic, Key decides the partition, Payload is sent.
	Topic, Key, Payload string
	// Headers is a JSON object of strings; ContentType is the payload's media type.
	Headers, ContentType string
	// Priority: larger goes first, where priority is asked for.
	Priority string

	// Status holds one of the four values below.
	Status string
	// Generation rises with every claim; ClaimToken is random for every claim. A
	// table has at least one of them.
	Generation, ClaimToken string
	// Attempts is charged by each claim.
	Attempts string
	// LeaseUntil is when a claim runs out, NextAttemptAt when a waiting row is due.
	LeaseUntil, NextAttemptAt string
	// CreatedAt is when a row was inserted. Where SentAt or FailedAt is not there,
	// that time goes into NextAttemptAt, which means nothing else then.
	CreatedAt, SentAt, FailedAt string
	LastError                   string

	// Ready, InProgress, Sent and Failed are values of Status, as text. Without
	// InProgress a claimed row keeps Ready and is told by its ClaimToken.
	// Without Failed no row can be given up.
	Ready, InProgress, Sent, Failed string

	// HeaderColumns are further columns that become headers.
	HeaderColumns []HeaderColumn
	// TopicTemplate, when it is set, is a topic in which {column} stands for a
	// row's value; it replaces Topic.
	TopicTemplate string
}

// HeaderColumn makes a header of a column; NULL is none.
type HeaderColumn struct{ Name, Column string }

// Relayfleet is the preset of our own table; see docs/tables.md for all presets.
func Relayfleet() Mapping {
	return Mapping{
		ID: "id", EventID: "event_id", Topic: "topic", Key: "key", Payload: "payload", Headers: "headers", Priority: "priority",
		Status: "status", Generation: "generation", ClaimToken: "claim_token", Attempts: "attempts",
		LeaseUntil: "lease_until", NextAttemptAt: "next_attempt_at",
		CreatedAt: "created_at", SentAt: "sent_at", FailedAt: "failed_at", LastError: "last_error",
		Ready: "READY", InProgress: "INPROGRESS", Sent: "SENT", Failed: "FAILED",
	}
}

// Lab is the preset of the recovery lab's table: no attempts, no FAILED, no token.
func Lab() Mapping {
	return Mapping{
		ID: "id", EventID: "event_id", Key: "aggregate_key", Payload: "payload",
		Status: "status", Generation: "generation", LeaseUntil: "lease_until", NextAttemptAt: "next_attempt_at",
		Ready: "READY", InProgress: "INPROGRESS", Sent: "SENT",
	}
}

// StatusCodes is the preset of a table with numeric states, of which 4 and 5
// belong to the consumer.
func StatusCodes() Mapping {
	return Mapping{
		ID: "id", EventID: "event_id", Key: "aggregate_key", Payload: "payload", Priority: "priority",
		Status: "send_status", Generation: "generation", ClaimToken: "claim_token", Attempts: "attempts",
		LeaseUntil: "lease_until", NextAttemptAt: "next_attempt_at", CreatedAt: "created_at", LastError: "last_error",
		Ready: "0", InProgress: "1", Sent: "2", Failed: "3",
	}
}

// Token is the preset of a table whose claim is a token and a lease on a PENDING row.
func Token() Mapping {
	return Mapping{
		ID: "event_id", EventID: "event_id", Key: "aggregate_key", Payload: "payload",
		Status: "status", ClaimToken: "claim_token", Attempts: "attempts",
		LeaseUntil: "lease_until", NextAttemptAt: "next_attempt_at", CreatedAt: "created_at", LastError: "last_error",
		Ready: "PENDING", Sent: "SENT", Failed: "FAILED",
	}
}

// Debezium is the preset of the outbox event router's table with the columns of a
// claim beside it.
func Debezium() Mapping {
	return Mapping{
		ID: "id", EventID: "id", Sequence: "seq", Key: "aggregateid", Payload: "payload",
		TopicTemplate: "outbox.event.{aggregatetype}",
		Status:        "status", Generation: "generation", ClaimToken: "claim_token", Attempts: "attempts",
		LeaseUntil: "lease_until", NextAttemptAt: "next_attempt_at", FailedAt: "failed_at", LastError: "last_error",
		Ready: "READY", InProgress: "INPROGRESS", Sent: "SENT", Failed: "FAILED",
	}
}

// presets are the mappings by name.
var presets = map[string]func() Mapping{
	"Relayfleet": Relayfleet, "Lab": Lab, "StatusCodes": StatusCodes, "Token": Token, "Debezium": Debezium,
}

// Presets are the names of all presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// Preset returns the mapping of that name.
func Preset(name string) (Mapping, bool) {
	preset, ok := presets[name]
	if !ok {
		return Mapping{}, false
	}
	return preset(), true
}

// Abilities are what a table with this mapping can record.
func (m Mapping) Abilities() event.Abilities {
	return event.Abilities{
		Attempts: m.Attempts != "", Failed: m.Failed != "", Age: m.CreatedAt != "", Token: m.ClaimToken != "",
	}
}

// Order is the column that tells rows of one due time apart.
func (m Mapping) Order() string {
	if m.Sequence != "" {
		return m.Sequence
	}
	return m.ID
}

// Counter is the column that counts how often a row was claimed: attempts, or
// else the generation. Empty: nothing counts.
func (m Mapping) Counter() string {
	if m.Attempts != "" {
		return m.Attempts
	}
	return m.Generation
}

// Slot is a column with what it is for, under its name in the Relayfleet table.
type Slot struct{ Name, Column string }

// Slots are all columns that the table is expected to have.
func (m Mapping) Slots() []Slot {
	all := []Slot{
		{"id", m.ID},
		{"event_id", m.EventID},
		{"sequence", m.Sequence},
		{"partition_key", m.PartitionKey},
		{"topic", m.topicColumn()},
		{"key", m.Key},
		{"payload", m.Payload},
		{"headers", m.Headers},
		{"content_type", m.ContentType},
		{"priority", m.Priority},
		{"status", m.Status},
		{"generation", m.Generation},
		{"claim_token", m.ClaimToken},
		{"attempts", m.Attempts},
		{"lease_until", m.LeaseUntil},
		{"next_attempt_at", m.NextAttemptAt},
		{"created_at", m.CreatedAt},
		{"sent_at", m.SentAt},
		{"failed_at", m.FailedAt},
		{"last_error", m.LastError},
	}
	slots := all[:0]
	for _, s := range all {
		if s.Column != "" {
			slots = append(slots, s)
		}
	}
	for _, h := range m.HeaderColumns {
		slots = append(slots, Slot{"header", h.Column})
	}
	for _, part := range m.TopicParts() {
		if part.Column != "" {
			slots = append(slots, Slot{"topic_part", part.Column})
		}
	}
	return slots
}

func (m Mapping) topicColumn() string {
	if m.TopicTemplate != "" {
		return ""
	}
	return m.Topic
}

// TopicPart is a piece of a topic: text, or the value of a column.
type TopicPart struct{ Text, Column string }

// TopicParts takes TopicTemplate apart; nil without one.
func (m Mapping) TopicParts() []TopicPart {
	var parts []TopicPart
	for rest := m.TopicTemplate; rest != ""; {
		before, behind, found := strings.Cut(rest, "{")
		if before != "" {
			parts = append(parts, TopicPart{Text: before})
		}
		if !found {
			break
		}
		name, after, _ := strings.Cut(behind, "}")
		parts = append(parts, TopicPart{Column: name})
		rest = after
	}
	return parts
}

// Validate says what is contradictory; nil when nothing is.
func (m Mapping) Validate() error {
	var problems []error
	for slot, column := range map[string]string{
		"id": m.ID, "eventID": m.EventID, "payload": m.Payload, "status": m.Status,
		"leaseUntil": m.LeaseUntil, "nextAttemptAt": m.NextAttemptAt,
	} {
		if column == "" {
			problems = append(problems, fmt.Errorf("columns.%s is not mapped: no table can do without it", slot))
		}
	}
	if m.Generation == "" && m.ClaimToken == "" {
		problems = append(problems, errors.New("columns.generation or columns.claimToken must be mapped: a claim needs a fence"))
	}
	if m.InProgress == "" && m.ClaimToken == "" {
		problems = append(problems, errors.New("statuses.inProgress is empty, so columns.claimToken must be mapped: nothing else tells a claimed row"))
	}
	return errors.Join(append(problems, m.distinct()...)...)
}

// distinct: two states with one value could not be told apart, and a column that
// claims write must not be another of them, nor one that says which event a row is.
func (m Mapping) distinct() (problems []error) {
	states := map[string]string{}
	for _, s := range []Slot{{"ready", m.Ready}, {"inProgress", m.InProgress}, {"sent", m.Sent}, {"failed", m.Failed}} {
		if other, taken := states[s.Column]; taken && s.Column != "" {
			problems = append(problems, fmt.Errorf("statuses.%s and statuses.%s are both %q", other, s.Name, s.Column))
		}
		states[s.Column] = s.Name
	}
	if m.Ready == "" || m.Sent == "" {
		problems = append(problems, errors.New("statuses.ready and statuses.sent must not be empty"))
	}
	written := []Slot{
		{"status", m.Status},
		{"generation", m.Generation},
		{"claimToken", m.ClaimToken},
		{"attempts", m.Attempts},
		{"leaseUntil", m.LeaseUntil},
		{"nextAttemptAt", m.NextAttemptAt},
		{"sentAt", m.SentAt},
		{"failedAt", m.FailedAt},
		{"lastError", m.LastError},
	}
	identifying := []Slot{
		{"id", m.ID},
		{"eventID", m.EventID},
		{"sequence", m.Sequence},
		{"partitionKey", m.PartitionKey},
		{"key", m.Key},
		{"payload", m.Payload},
		{"createdAt", m.CreatedAt},
	}
	for i, s := range written {
		for _, other := range slices.Concat(identifying, written[:i]) {
			if s.Column != "" && s.Column == other.Column {
				problems = append(problems, fmt.Errorf("columns.%s and columns.%s are both %q", other.Name, s.Name, s.Column))
			}
		}
	}
	return problems
}

// ClaimedStatus is the status of a claimed row.
func (m Mapping) ClaimedStatus() string {
	if m.InProgress != "" {
		return m.InProgress
	}
	return m.Ready
}
