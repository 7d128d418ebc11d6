package rows

import (
	"strings"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
)

// MaxBytes is the byte budget of a batch.
const MaxBytes = maxBytes

// ParseHeaders is parseHeaders.
var ParseHeaders = parseHeaders

// Statements are all statements of a table by name, as they are sent.
func Statements(table outbox.Table, limit int) map[string]string {
	s := newStatements(table)
	return map[string]string{
		"durable": s.durable, "claim": s.claim(limit), "read": s.read, "settle_sent": s.settleSent,
		"settle_retry": s.settleRetry, "settle_failed": s.settleFailed, "release": s.release, "uncharge": s.uncharge,
		"renew": s.renew, "refused": s.refused, "recover": s.recover, "backlog": s.backlog,
	}
}

// AtTime is a statement that takes the database's clock to stand at t.
func AtTime(statement string, t time.Time) string {
	instant := "'" + t.Format(time.RFC3339Nano) + "'::timestamptz"
	return strings.NewReplacer(
		"pg_catalog.clock_timestamp()", instant, "pg_catalog.statement_timestamp()", instant,
	).Replace(statement)
}

// Part is a batch with some of the events of b.
func Part(b event.Batch, events ...int) event.Batch {
	whole := b.Claim.(*claim)
	rows := make([]claimed, len(events))
	part := b
	part.Events = nil
	for i, e := range events {
		rows[i] = claimed{id: whole.ids[e], generation: whole.generations[e], attempts: whole.attempts[e]}
		part.Events = append(part.Events, b.Events[e])
	}
	part.Claim = newClaim(rows)
	return part
}

// SweepIsDue makes the next claim look below the watermark.
func (s *Store) SweepIsDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.watermark.sweptAt = s.mu.watermark.sweptAt.Add(-sweepEvery)
}

// Close ends the store's connections.
func (s *Store) Close() { s.db.Close() }
