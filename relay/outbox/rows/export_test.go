package rows

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
)

// ParseHeaders is parseHeaders.
var ParseHeaders = parseHeaders

// Statement is a statement as it is sent, and the numbers that its parameters
// have in its file.
type Statement struct {
	SQL    string
	Params []int
}

// Statements are all statements of a table by the names of their files.
func Statements(table outbox.Table, m outbox.Mapping, shape outbox.Shape, limit int) map[string]Statement {
	return OrderedStatements(table, m, shape, limit, Order{})
}

// OrderedStatements are those of a store with an order.
func OrderedStatements(table outbox.Table, m outbox.Mapping, shape outbox.Shape, limit int, o Order) map[string]Statement {
	s := newStatements(table, m, shape, o)
	all := map[string]statement{
		"durable": s.durable, "claim": s.limited(o.claimStatement(), limit), "read": s.read, "settle_sent": s.settleSent,
		"settle_retry": s.settleRetry, "release": s.release, "uncharge": s.uncharge, "renew": s.renew, "refused": s.refused,
		"recover": s.recover, "recover_suspects": s.recoverSuspects, "backlog": s.backlog,
	}
	if o.ByKey {
		all["lock_ordered"] = s.lockOrdered
	}
	if m.Failed != "" {
		all["settle_failed"], all["replay"] = s.settleFailed, s.replay
	}
	if m.Counter() != "" {
		all["suspects"] = s.limited("suspects", limit)
	}
	if m.PartitionKey == "" {
		s.setRetention(Retention{}, m)
		all["retention"], all["referenced"] = s.retention, s.referenced
	}
	if canAbandon(m) {
		all["abandon"] = s.abandon
	}
	statements := map[string]Statement{}
	for name, s := range all {
		if s.sql != "" {
			statements[name] = Statement{s.sql, s.params}
		}
	}
	return statements
}

// Files are the names of all files with statements.
func Files() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".sql"); ok {
			names = append(names, name)
		}
	}
	return names
}

// Raw is a file as it stands.
func Raw(name string) string {
	text, err := files.ReadFile(name + ".sql")
	if err != nil {
		panic(err)
	}
	return string(text)
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
		rows[i] = claimed{id: whole.ids[e], generation: whole.generations[e], attempts: whole.attempts[e], partition: whole.partitions[e]}
		part.Events = append(part.Events, b.Events[e])
	}
	part.Claim = newClaim(whole.fence, rows)
	return part
}

// SweepIsDue makes the next claim look below the watermark.
func (s *Store) SweepIsDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.watermark.sweptAt = time.Time{}
}

// Close ends the store's connections.
func (s *Store) Close() { s.db.Close() }

// Mutate puts other statements in the place of the ordered claim and its lock.
func (s *Store) Mutate(change func(claim, lock string) (string, string)) {
	err := s.with(context.Background(), func(_ context.Context, _ *pgxpool.Conn, all *statements) error {
		for limit := 1; limit <= 32; limit++ {
			claim := all.limited("claim_ordered", limit)
			claim.sql, all.lockOrdered.sql = change(claim.sql, all.lockOrdered.sql)
			all.byLimit[limitedName{"claim_ordered", limit}] = claim
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
}
