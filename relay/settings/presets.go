package settings

import "maps"

// presets are the columns and statuses that a mapping starts from, by slot. What
// reads the table has them too; that both are equal a test of relay holds.
var presets = map[Preset]map[string]string{
	PresetRelayfleet: {
		"id": "id", "eventID": "event_id", "topic": "topic", "key": "key", "payload": "payload", "headers": "headers",
		"priority": "priority", "status": "status", "generation": "generation", "claimToken": "claim_token", "attempts": "attempts",
		"leaseUntil": "lease_until", "nextAttemptAt": "next_attempt_at", "createdAt": "created_at", "sentAt": "sent_at",
		"failedAt": "failed_at", "lastError": "last_error",
		"ready": "READY", "inProgress": "INPROGRESS", "sent": "SENT", "failed": "FAILED",
	},
	PresetLab: {
		"id": "id", "eventID": "event_id", "key": "aggregate_key", "payload": "payload",
		"status": "status", "generation": "generation", "leaseUntil": "lease_until", "nextAttemptAt": "next_attempt_at",
		"ready": "READY", "inProgress": "INPROGRESS", "sent": "SENT",
	},
	PresetStatusCodes: {
		"id": "id", "eventID": "event_id", "key": "aggregate_key", "payload": "payload", "priority": "priority",
		"status": "send_status", "generation": "generation", "claimToken": "claim_token", "attempts": "attempts",
		"leaseUntil": "lease_until", "nextAttemptAt": "next_attempt_at", "createdAt": "created_at", "lastError": "last_error",
		"ready": "0", "inProgress": "1", "sent": "2", "failed": "3",
	},
	PresetToken: {
		"id": "event_id", "eventID": "event_id", "key": "aggregate_key", "payload": "payload",
		"status": "status", "claimToken": "claim_token", "attempts": "attempts",
		"leaseUntil": "lease_until", "nextAttemptAt": "next_attempt_at", "createdAt": "created_at", "lastError": "last_error",
		"ready": "PENDING", "sent": "SENT", "failed": "FAILED",
	},
	PresetDebezium: {
		"id": "id", "eventID": "id", "sequence": "seq", "key": "aggregateid", "payload": "payload",
		"status": "status", "generation": "generation", "claimToken": "claim_token", "attempts": "attempts",
		"leaseUntil": "lease_until", "nextAttemptAt": "next_attempt_at", "failedAt": "failed_at", "lastError": "last_error",
		"ready": "READY", "inProgress": "INPROGRESS", "sent": "SENT", "failed": "FAILED",
	},
}

// names are the columns and statuses by slot, as the file has them or else the
// preset; "" is none.
func (m Mapping) names() map[string]string {
	names := map[string]string{}
	maps.Copy(names, presets[m.Preset])
	for _, c := range m.Columns.named() {
		if c.name != nil {
			names[c.slot] = *c.name
		}
	}
	for _, s := range m.Statuses.named() {
		if s.value != nil {
			names[s.slot] = *s.value
		}
	}
	return names
}
