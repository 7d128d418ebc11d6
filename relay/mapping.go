package relay

import (
	"fmt"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/report"
	"github.com/relayfleet/relayfleet/relay/settings"
)

// mappingOf is the preset with what the settings replace.
func mappingOf(s settings.Settings) (outbox.Mapping, error) {
	m, ok := outbox.Preset(string(s.Mapping.Preset))
	if !ok {
		return m, fmt.Errorf("mapping.preset: there is no %q", s.Mapping.Preset)
	}
	c, st := s.Mapping.Columns, s.Mapping.Statuses
	for _, r := range []struct {
		name  *string
		place *string
	}{
		{c.ID, &m.ID},
		{c.EventID, &m.EventID},
		{c.Sequence, &m.Sequence},
		{c.PartitionKey, &m.PartitionKey},
		{c.Topic, &m.Topic},
		{c.Key, &m.Key},
		{c.Payload, &m.Payload},
		{c.Headers, &m.Headers},
		{c.ContentType, &m.ContentType},
		{c.Priority, &m.Priority},
		{c.Status, &m.Status},
		{c.Generation, &m.Generation},
		{c.ClaimToken, &m.ClaimToken},
		{c.Attempts, &m.Attempts},
		{c.LeaseUntil, &m.LeaseUntil},
		{c.NextAttemptAt, &m.NextAttemptAt},
		{c.CreatedAt, &m.CreatedAt},
		{c.SentAt, &m.SentAt},
		{c.FailedAt, &m.FailedAt},
		{c.LastError, &m.LastError},
		{st.Ready, &m.Ready},
		{st.InProgress, &m.InProgress},
		{st.Sent, &m.Sent},
		{st.Failed, &m.Failed},
	} {
		if r.name != nil {
			*r.place = *r.name
		}
	}
	switch {
	case s.TopicFrom.Template != "":
		m.TopicTemplate = s.TopicFrom.Template
	case s.TopicFrom.Column != "":
		m.TopicTemplate, m.Topic = "", s.TopicFrom.Column
	}
	for _, h := range s.Mapping.Headers {
		m.HeaderColumns = append(m.HeaderColumns, outbox.HeaderColumn{Name: h.Name, Column: h.Column})
	}
	if !s.Priority.Enabled {
		m.Priority = "" // Nobody asks for it, so the table need not have it.
	}
	if err := m.Validate(); err != nil {
		return m, fmt.Errorf("mapping: %w", err)
	}
	return m, nil
}

// Limits names what a table with this mapping cannot record, as in a report.
func Limits(s settings.Settings) ([]string, error) {
	m, err := mappingOf(s)
	if err != nil {
		return nil, err
	}
	var limits []string
	able := m.Abilities()
	for _, ability := range []struct {
		name  string
		there bool
	}{
		{report.LimitAttempts, able.Attempts},
		{report.LimitFailed, able.Failed},
		{report.LimitAge, able.Age},
		{report.LimitToken, able.Token},
	} {
		if !ability.there {
			limits = append(limits, ability.name)
		}
	}
	return limits, nil
}
