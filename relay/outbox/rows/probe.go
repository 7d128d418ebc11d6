package rows

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

// Probe is a statement as a relay sends it, with arguments that match no row:
// something to have a plan explained of, never to be run.
type Probe struct {
	// Name is that of its file.
	Name string
	SQL  string
	Args []any
	// Indexes are the names of those that it relies on, as Indexes and the others
	// name them; none: the key's.
	Indexes []string
	// Ordered: without a sort, because that would read all that is due. Some
	// statements sort what they have taken.
	Ordered bool
}

// Probes are the statements whose work must not grow with the table.
func Probes(table outbox.Table, m outbox.Mapping, shape outbox.Shape, order Order, retention *Retention) []Probe {
	s := newStatements(table, m, shape, order)
	const batch = 500
	token := newToken().String()
	lease := 30 * time.Second
	guarded := []any{token, s.keys.array(nil), []int64{}, []string{}}
	if m.ClaimToken == "" {
		guarded[0] = time.Unix(0, 0).UTC().Format(time.RFC3339)
	}
	noOutages := (&outages{}).text()
	everything := pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	probe := func(name string, do statement, indexes []string, ordered bool, args ...any) Probe {
		for i, suffix := range indexes {
			indexes[i] = indexName(table, suffix)
		}
		return Probe{Name: name, SQL: do.sql, Args: do.args(args...), Indexes: indexes, Ordered: ordered}
	}
	probes := []Probe{
		probe(order.claimStatement(), s.limited(order.claimStatement(), batch), order.relyOn(), !order.ByKey,
			token, lease, everything, nil, noOutages),
		probe("backlog", s.backlog, []string{"queue", "suspects", "failed"}, false),
		probe("settle_sent", s.settleSent, nil, true, guarded...),
	}
	if m.Counter() != "" {
		probes = append(probes, probe("suspects", s.limited("suspects", batch), append(order.relyOn(), "suspects"), true,
			token, lease, token, int64(1), noOutages))
	}
	if retention != nil {
		s.setRetention(*retention, m)
		probes = append(probes, probe("retention", s.retention, []string{"retention"}, true, retention.Window))
	}
	return probes
}

// relyOn are the indexes of a claim.
func (o Order) relyOn() []string {
	switch {
	case o.ByKey:
		return []string{"queue", "suspects", "ordered", "halted"}
	case o.ByPriority:
		return []string{"queue", "priority"}
	}
	return []string{"queue"}
}

// Stranded is the text of stranded.sql for a table.
func Stranded(table outbox.Table, m outbox.Mapping) string {
	return newRendering(table, m, nil).render("stranded").sql
}
