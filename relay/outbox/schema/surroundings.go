package schema

import (
	"context"
	"fmt"
)

// lookAround looks at what others have tied to the table.
func (e *examination) lookAround(ctx context.Context) error {
	if e.relation.OID == 0 {
		return nil
	}
	triggers, err := askNames(ctx, e, question("triggers"), e.relation.OID, e.mapping.WrittenColumns())
	if err != nil {
		return err
	}
	if len(triggers) > 0 {
		e.find(Finding{
			Code: UpdateTriggers, Severity: Warning,
			Message: "row triggers run at every claim and every settle: " + list(triggers),
			Advice:  "let them be for INSERT alone, or for UPDATE OF columns that no claim writes",
		})
	}
	if e.use.Retention == nil {
		return nil
	}
	return e.lookAtDeletes(ctx)
}

func (e *examination) lookAtDeletes(ctx context.Context) error {
	keys, err := askNames(ctx, e, question("references"), e.relation.OID)
	if err != nil {
		return err
	}
	if len(keys) > 0 {
		e.find(Finding{
			Code: ForeignKeys, Severity: Warning,
			Message: "foreign keys reference the table, so retention deletes nothing: " + list(keys),
			Advice:  "drop them, or set retention.policy to Keep",
		})
	}
	if !e.relation.MayDelete {
		e.find(Finding{
			Code: DeleteDenied, Severity: Warning,
			Message:    "the role may not delete, so retention deletes nothing",
			Advice:     "grant it",
			Statements: []string{fmt.Sprintf("GRANT DELETE ON TABLE %s TO %s;", e.table.SQL(), quoted(e.server.Role))},
		})
	}
	return nil
}

const (
	// tolerableDead is how many dead rows may pile up in a table of a million before
	// VACUUM runs: a claim passes over the entries of all of them.
	tolerableDead = 50_000
	million       = 1_000_000
	// maxLeaves bounds the statements for a table of many partitions.
	maxLeaves = 20
)

// lookAtVacuum looks at the table or its partitions, and at their counters.
func (e *examination) lookAtVacuum(context.Context) error {
	if e.relation.OID == 0 {
		return nil
	}
	var sum counters
	var statements []string
	for _, l := range e.leaves {
		sum = counters{sum.inserted + l.Inserted, sum.updated + l.Updated, sum.deleted + l.Deleted}
		if (!l.Vacuumed || l.Scale*million+l.Threshold > tolerableDead) && len(statements) < maxLeaves {
			statements = append(statements, "ALTER TABLE "+quoted(l.Schema)+"."+quoted(l.Name)+" SET ("+vacuuming+");")
		}
	}
	e.lookForVanishing(sum)
	if len(statements) > 0 {
		e.find(Finding{
			Code: AutovacuumSlow, Severity: Warning, Statements: statements, creates: true,
			Message: "autovacuum is off for the table, or waits for a share of it: every event leaves two dead rows behind, and claims slow down with them",
			Advice:  "let it run after a fixed number of rows, without pauses; autovacuum_naptime of the server bounds how often",
		})
	}
	return nil
}

// vacuuming was measured: with it claims stay as fast after minutes at 5,000
// events a second, and the queue index stays small.
const vacuuming = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0"

// From when on an old snapshot is told of. With a watermark claims stay fast for
// longer; the table and its indexes grow from the first second.
var (
	oldTransactions int64 = 100_000
	oldSeconds            = 300.0
)

func (e *examination) lookAtHolders(ctx context.Context) error {
	holders, err := ask[holder](ctx, e, question("holders"), oldTransactions, oldSeconds)
	if err != nil || len(holders) == 0 {
		return err
	}
	var who []string
	for _, h := range holders {
		age := fmt.Sprintf("%d transactions", h.Transactions)
		if h.Seconds > 0 {
			age += fmt.Sprintf(", %.0f s", h.Seconds)
		}
		who = append(who, fmt.Sprintf("%s %s (for %s)", h.Kind, h.Name, age))
	}
	e.find(Finding{
		Code: OldSnapshot, Severity: Warning,
		Message: "VACUUM cannot remove dead rows, because of " + list(who),
		Advice:  "end what is forgotten: a session by its pid, a prepared transaction by ROLLBACK PREPARED, an abandoned slot by pg_drop_replication_slot; a standby by hot_standby_feedback",
	})
	return nil
}
