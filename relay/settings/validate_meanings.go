package settings

import (
	"fmt"
	"slices"
)

// unresolved are the states whose rows retention must not delete.
var unresolved = []string{"ready", "inProgress", "failed"}

// written are the columns that claims and outcomes write, and identifying those
// that say which event a row is, in which order, how old, and what is sent.
var (
	written     = []string{"status", "generation", "claimToken", "attempts", "leaseUntil", "nextAttemptAt", "sentAt", "failedAt", "lastError"}
	identifying = []string{"id", "eventID", "sequence", "partitionKey", "key", "payload", "createdAt"}
)

// meanings checks the whole mapping, of which the file may say only a part.
func (p *problems) meanings(m Mapping) {
	names := m.names()
	p.check(names["generation"] != "" || names["claimToken"] != "", "mapping.columns",
		"map generation or claimToken: a claim needs one of them as its fence")
	p.check(names["inProgress"] != "" || names["claimToken"] != "", "mapping.columns.claimToken",
		"must be mapped where statuses.inProgress is empty: nothing else tells a claimed row")
	p.apart("mapping.statuses", []string{"ready", "inProgress", "sent", "failed"}, nil, names, "two states could not be told apart")
	p.apart("mapping.columns", written, identifying, names, "what a claim writes needs a column of its own")
}

// apart: each slot has another name than all other slots and than all of beside.
func (p *problems) apart(path string, slots, beside []string, names map[string]string, why string) {
	for i, slot := range slots {
		for _, other := range slices.Concat(beside, slots[:i]) {
			p.check(names[slot] == "" || names[slot] != names[other], path,
				"%s and %s are both %q: %s", other, slot, names[slot], why)
		}
	}
}

func (p *problems) retention(s Settings) {
	r := s.Retention
	oneOf(p, "retention.policy", r.Policy, RetentionKeep, RetentionDelete)
	if r.Policy != RetentionDelete {
		p.check(r.SentSeconds == 0 && len(r.Statuses) == 0, "retention", "sentSeconds and statuses are only for policy Delete")
		return
	}
	between(p, "retention.sentSeconds", r.SentSeconds, 60, 31536000)
	p.check(len(r.Statuses) > 0 || s.Mapping.Preset != PresetStatusCodes, "retention.statuses",
		"is required with preset StatusCodes: what is SENT (2) there is not consumed yet; write [\"4\"] to delete what is")
	p.deletable(r.Statuses, s.Mapping.names())
}

func (p *problems) deletable(statuses []string, names map[string]string) {
	const path = "retention.statuses"
	p.check(len(statuses) <= 5, path, "must have at most 5 entries")
	for i, status := range statuses {
		entry := fmt.Sprintf("%s[%d]", path, i)
		p.identifier(entry, status)
		p.check(!slices.Contains(statuses[:i], status), entry, "%q is there twice", status)
	}
	for _, state := range unresolved {
		if value := names[state]; value != "" {
			p.check(!slices.Contains(statuses, value), path, "rows with status %q are not done and must not be deleted", value)
		}
	}
}
