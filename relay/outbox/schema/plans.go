package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// lookAtPlans has the relay's own statements explained, as the relay's role and
// with its settings. What lacks its index has been told of already.
func (e *examination) lookAtPlans(ctx context.Context) error {
	lacking := e.lacking()
	var unsuitable, how []string
	for _, p := range rows.Probes(e.table, e.mapping, e.shape, e.use.Order, e.use.Retention) {
		lacks := slices.ContainsFunc(p.Indexes, func(name string) bool { return slices.Contains(lacking, name) })
		if lacks || p.Name == "retention" && !e.relation.MayDelete {
			continue
		}
		plan, err := e.explain(ctx, p)
		if err != nil {
			return fmt.Errorf("explain %s: %w", p.Name, err)
		}
		if why := plan.grows(p.Ordered); why != "" {
			unsuitable, how = append(unsuitable, p.Name), append(how, p.Name+" ("+why+")")
		}
	}
	if len(unsuitable) > 0 {
		e.find(Finding{
			Code: PlanUnsuitable, Severity: Warning,
			Message:    "the planner does not use the indexes that are there: " + list(how),
			Advice:     "bring the table's statistics up to date; if that does not help, look for planner settings of the role or the server",
			Statements: []string{"ANALYZE " + e.table.SQL() + ";"},
		})
	}
	return nil
}

// lacking are the indexes of which there is a finding.
func (e *examination) lacking() []string {
	var names []string
	for _, f := range e.findings {
		if !slices.Contains([]string{IndexMissing, IndexInvalid, IndexDifferent}, f.Code) {
			continue
		}
		for _, w := range e.wanted() {
			if strings.Contains(list(f.Statements), quoted(w.Name)) {
				names = append(names, w.Name)
			}
		}
	}
	return names
}

// node is a step of a plan, as far as it matters here.
type node struct {
	Kind     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Schema   string `json:"Schema"`
	Index    string `json:"Index Name"`
	Plans    []node `json:"Plans"`
}

func (e *examination) explain(ctx context.Context, p rows.Probe) (node, error) {
	var text string
	flush := &pgx.Batch{}
	flush.Queue("EXPLAIN (FORMAT JSON, COSTS OFF) "+p.SQL, p.Args...).QueryRow(func(row pgx.Row) error { return row.Scan(&text) })
	if err := e.db.Flush(ctx, e.conn, flush); err != nil {
		return node{}, err
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		return node{}, fmt.Errorf("read the plan: %w", err)
	}
	return plans[0].Plan, nil
}

// isOfParameters: only what was sent with the statement is sorted.
func (n node) isOfParameters() bool { return len(n.Plans) == 1 && n.Plans[0].Kind == "Function Scan" }

// grows says what of a plan takes longer, the larger the table is; empty: nothing.
func (n node) grows(ordered bool) string {
	switch {
	case n.Relation != "" && strings.HasPrefix(n.Relation, "pg_"):
		return "" // The server's own catalogue, which the backlog asks for inserts.
	case n.Kind == "Seq Scan" || strings.HasPrefix(n.Kind, "Bitmap") && n.Relation != "":
		return "a " + strings.ToLower(n.Kind)
	case ordered && strings.HasSuffix(n.Kind, "Sort") && !n.isOfParameters():
		return "a sort"
	}
	for _, below := range n.Plans {
		if why := below.grows(ordered); why != "" {
			return why
		}
	}
	return ""
}
