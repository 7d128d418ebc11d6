package schema

import (
	"context"
	"fmt"
	"strings"

	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// stranded is what stranded.sql counts.
type stranded struct {
	WithoutLease, WithoutDueTime, StrayLeases int64
	QueueEmpty                                bool
}

// enough is where stranded.sql ends counting.
const enough = 1000

// lookForStranded looks for rows that no claim takes. It needs the indexes that
// every table has but for that of FAILED rows, or it would read all of the table.
func (e *examination) lookForStranded(ctx context.Context) error {
	for _, name := range e.lacking() {
		if strings.HasSuffix(name, "_queue") || strings.HasSuffix(name, "_suspects") {
			return nil
		}
	}
	s, err := one[stranded](ctx, e, rows.Stranded(e.table, e.mapping))
	if err != nil {
		return err
	}
	e.queueEmpty = s.QueueEmpty
	m, table := e.mapping, e.table.SQL()
	claimed, waiting := e.claimedIs(), e.waitingIs()
	lease, due := quoted(m.LeaseUntil), quoted(m.NextAttemptAt)
	if s.WithoutLease > 0 {
		e.find(Finding{
			Code: RowsWithoutLease, Severity: Warning, Slots: []string{"status", "lease_until"},
			Message: fmt.Sprintf("%s claimed rows have no lease. No relay takes them: either nobody works on them any more, or something that knows no leases sends them right now", count(s.WithoutLease)),
			Advice:  "end whatever else polls this table; then give them a lease: when it ends they are claimed like those of a relay that died",
			Statements: []string{
				fmt.Sprintf("UPDATE %s SET %s = statement_timestamp() + interval '15 minutes' WHERE %s AND %s IS NULL;", table, lease, claimed, lease),
			},
		})
	}
	if s.WithoutDueTime > 0 {
		e.find(Finding{
			Code: RowsWithoutDueTime, Severity: Warning, Slots: []string{"next_attempt_at"},
			Message:    count(s.WithoutDueTime) + " waiting rows have no due time, and so are never claimed",
			Advice:     "make them due, and let the application write the time or leave it to the column's default",
			Statements: []string{fmt.Sprintf("UPDATE %s SET %s = statement_timestamp() WHERE %s AND %s IS NULL;", table, due, waiting, due)},
		})
	}
	if s.StrayLeases > 0 {
		e.find(Finding{
			Code: StrayLeases, Severity: Warning, Slots: []string{"lease_until"},
			Message:    count(s.StrayLeases) + " waiting rows have a lease, which means nothing: they are claimed when they are due",
			Advice:     "take it away, and look for what writes it",
			Statements: []string{fmt.Sprintf("UPDATE %s SET %s = NULL WHERE %s AND %s IS NOT NULL;", table, lease, waiting, lease)},
		})
	}
	return nil
}

func count(n int64) string {
	if n >= enough {
		return fmt.Sprintf("at least %d", n)
	}
	return fmt.Sprint(n)
}

func (e *examination) claimedIs() string {
	m := e.mapping
	if m.InProgress == "" {
		return fmt.Sprintf("%s = %s AND %s IS NOT NULL", quoted(m.Status), typed(m.Ready), quoted(m.ClaimToken))
	}
	return fmt.Sprintf("%s = %s", quoted(m.Status), typed(m.InProgress))
}

func (e *examination) waitingIs() string {
	m := e.mapping
	if m.InProgress == "" {
		return fmt.Sprintf("%s = %s AND %s IS NULL", quoted(m.Status), typed(m.Ready), quoted(m.ClaimToken))
	}
	return fmt.Sprintf("%s = %s", quoted(m.Status), typed(m.Ready))
}

// counters are how often rows of the table were ever inserted, updated and deleted.
type counters struct{ inserted, updated, deleted int64 }

// lookForVanishing compares with the examination before: what inserts a row and
// deletes it in one transaction, for those who read the log, shows a poller nothing.
func (e *examination) lookForVanishing(now counters) {
	e.mu.Lock()
	last := e.mu.last
	e.mu.last = &now
	e.mu.Unlock()
	if last == nil || !e.queueEmpty || e.use.Retention != nil {
		return
	}
	inserted, updated, deleted := now.inserted-last.inserted, now.updated-last.updated, now.deleted-last.deleted
	if inserted <= 0 || updated != 0 || deleted*10 < inserted*9 {
		return
	}
	e.find(Finding{
		Code: RowsVanish, Severity: Warning,
		Message: fmt.Sprintf("since the last look %d rows were inserted and %d deleted, none was ever claimed, and none waits: whatever inserts them also deletes them", inserted, deleted),
		Advice:  "let the application keep its rows (a library that fills an outbox for a reader of the log deletes them in the same transaction; it has a switch for that)",
	})
}
