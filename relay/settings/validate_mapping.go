package settings

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxHeaders bounds Mapping.Headers.
const maxHeaders = 20

func (p *problems) mapping(m Mapping) {
	oneOf(p, "mapping.preset", m.Preset, PresetRelayfleet, PresetLab, PresetStatusCodes, PresetToken, PresetDebezium)
	for _, c := range m.Columns.named() {
		path := "mapping.columns." + c.slot
		if c.name != nil && *c.name != "" {
			p.identifier(path, *c.name)
		}
		p.check(!c.required || c.name == nil || *c.name != "", path, "must not be empty: no table can do without it")
	}
	for _, st := range m.Statuses.named() {
		if path := "mapping.statuses." + st.slot; st.value != nil {
			p.check(*st.value != "" || !st.required, path, "must not be empty")
			p.name(path, *st.value)
		}
	}
	p.check(len(m.Headers) <= maxHeaders, "mapping.headers", "must have at most %d entries", maxHeaders)
	seen := map[string]bool{}
	for i, h := range m.Headers {
		path := fmt.Sprintf("mapping.headers[%d]", i)
		p.identifier(path+".column", h.Column)
		p.check(h.Name != "" && utf8.RuneCountInString(h.Name) <= 249, path+".name", "must be 1 to 249 characters long")
		p.check(!seen[h.Name], path+".name", "%q is there twice", h.Name)
		seen[h.Name] = true
	}
	p.meanings(m)
}

// column is one entry of Columns.
type column struct {
	slot     string
	name     *string
	required bool
}

func (c Columns) named() []column {
	return []column{
		{"id", c.ID, true},
		{"eventID", c.EventID, true},
		{"sequence", c.Sequence, false},
		{"partitionKey", c.PartitionKey, false},
		{"topic", c.Topic, false},
		{"key", c.Key, false},
		{"payload", c.Payload, true},
		{"headers", c.Headers, false},
		{"contentType", c.ContentType, false},
		{"priority", c.Priority, false},
		{"status", c.Status, true},
		{"generation", c.Generation, false},
		{"claimToken", c.ClaimToken, false},
		{"attempts", c.Attempts, false},
		{"leaseUntil", c.LeaseUntil, true},
		{"nextAttemptAt", c.NextAttemptAt, true},
		{"createdAt", c.CreatedAt, false},
		{"sentAt", c.SentAt, false},
		{"failedAt", c.FailedAt, false},
		{"lastError", c.LastError, false},
	}
}

// status is one entry of Statuses.
type status struct {
	slot     string
	value    *string
	required bool
}

func (s Statuses) named() []status {
	return []status{{"ready", s.Ready, true}, {"inProgress", s.InProgress, false}, {"sent", s.Sent, true}, {"failed", s.Failed, false}}
}

// destination: every event must have somewhere to go.
func (p *problems) destination(s Settings) {
	from := s.TopicFrom
	if s.Topic != "" {
		p.topic("topic", s.Topic)
	}
	p.check(from.Column == "" || from.Template == "", "topicFrom", "write only one of column and template")
	if from.Column != "" {
		p.identifier("topicFrom.column", from.Column)
	}
	if from.Template != "" {
		p.template("topicFrom.template", from.Template)
	}
	named := from.Template != "" || from.Column == "" && s.Mapping.Preset == PresetDebezium
	p.check(s.Topic != "" || named, "topic", "is required: it is where events go that name no topic of their own")
}

// template is text of a topic's characters and {column}.
func (p *problems) template(path, value string) {
	fixed, columns, ok := splitTemplate(value)
	p.check(ok && len(columns) > 0, path, "must have at least one {column}, and every '{' its '}', not %q", value)
	for _, column := range columns {
		p.identifier(path, column)
	}
	p.check(utf8.RuneCountInString(value) <= maxTopic, path, "must be at most %d characters long", maxTopic)
	p.topicCharacters(path, fixed)
}

// splitTemplate returns the text between the columns, and the columns.
func splitTemplate(value string) (fixed string, columns []string, ok bool) {
	for value != "" {
		before, rest, found := strings.Cut(value, "{")
		fixed += before
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || name == "" || strings.Contains(name, "{") {
			return "", nil, false
		}
		columns, value = append(columns, name), after
	}
	return fixed, columns, !strings.Contains(fixed, "}")
}

// behaviour checks what contradicts itself.
func (p *problems) behaviour(s Settings) {
	oneOf(p, "ordering.mode", s.Ordering.Mode, OrderNone, OrderKey)
	if s.Ordering.Mode == OrderKey {
		oneOf(p, "ordering.onFailed", s.Ordering.OnFailed, Halt, Skip)
		p.check(!s.Priority.Enabled, "priority.enabled", "contradicts ordering.mode Key: an urgent event would overtake earlier ones of its key")
		p.check(!isEmpty(s.Mapping.Columns.Key), "ordering.mode", "Key needs a key: map mapping.columns.key")
		p.check(s.Mapping.rises(), "ordering.mode", "Key needs a number that rises with every insert: map mapping.columns.sequence")
	} else {
		p.check(s.Ordering.OnFailed == "", "ordering.onFailed", "is only for ordering.mode Key")
	}
	if s.Priority.Enabled {
		p.check(s.Mapping.names()["priority"] != "", "priority.enabled", "needs a column: map mapping.columns.priority")
		between(p, "priority.oldestPercent", s.Priority.OldestPercent, 1, 50)
	} else {
		p.check(s.Priority.OldestPercent == 0, "priority.oldestPercent", "is only for priority.enabled true")
	}
	p.retention(s)
	oneOf(p, "wakeUp.mode", s.WakeUp.Mode, WakeUpPoll, WakeUpNotify)
	if s.WakeUp.Mode == WakeUpNotify {
		p.identifier("wakeUp.channel", s.WakeUp.Channel)
		p.check(s.Database.Pooling != PoolingTransaction, "wakeUp.mode", "Notify contradicts database.pooling Transaction: such a pooler passes no notifications on")
	} else {
		p.check(s.WakeUp.Channel == "", "wakeUp.channel", "is only for wakeUp.mode Notify")
	}
}

// rises: the ids of Token and Debezium are random; Debezium has a sequence beside.
func (m Mapping) rises() bool {
	sequence := m.Columns.Sequence
	switch m.Preset {
	case PresetToken:
		return sequence != nil && *sequence != ""
	case PresetDebezium:
		return sequence == nil || *sequence != ""
	default:
		return true
	}
}

// isEmpty: the table is said to have no such column.
func isEmpty(name *string) bool { return name != nil && *name == "" }
