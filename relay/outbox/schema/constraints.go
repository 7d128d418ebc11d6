package schema

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// lookAtStatuses tries the mapping's values: against the type of the column, an
// enum or a domain for instance, and against each CHECK that is about columns of
// the claim alone.
func (e *examination) lookAtStatuses(ctx context.Context) error {
	var refused []string
	status := e.column(e.mapping.Status)
	for _, value := range e.statuses() {
		fits, err := e.fits(ctx, value, status.Type)
		if err != nil {
			return err
		}
		if !fits {
			refused = append(refused, value)
			continue
		}
		e.sound = append(e.sound, typed(value))
	}
	if len(refused) > 0 {
		e.find(e.statusRefused(refused, "the type "+status.Type, ""))
		return nil
	}
	return e.lookAtChecks(ctx)
}

func (e *examination) statuses() []string {
	var values []string
	for _, v := range []string{e.mapping.Ready, e.mapping.InProgress, e.mapping.Sent, e.mapping.Failed} {
		if v != "" {
			values = append(values, v)
		}
	}
	return values
}

// fits tells whether a type holds a value as it is: a shorter varchar would cut it.
func (e *examination) fits(ctx context.Context, value, kind string) (bool, error) {
	fits, err := askBy(ctx, e, pgx.RowTo[bool], fmt.Sprintf("SELECT (%s::%s)::text = %s", typed(value), kind, typed(value)))
	if cannotSay(err) {
		return false, nil
	}
	return err == nil && fits[0], err
}

func (e *examination) lookAtChecks(ctx context.Context) (err error) {
	if e.checks, err = ask[check](ctx, e, question("checks"), e.relation.OID); err != nil {
		return err
	}
	for _, c := range e.checks {
		if !e.isAboutClaims(c) {
			continue
		}
		admitted, known, err := e.admitted(ctx, c.Expression)
		if err != nil {
			return err
		}
		if refused := e.shutOut(admitted); known && len(refused) > 0 {
			e.find(e.statusRefused(refused, "the constraint "+quoted(c.Name), fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s;", e.table.SQL(), quoted(c.Name))))
			return nil
		}
	}
	return nil
}

// isAboutClaims: of a constraint on what the application says nothing is known.
func (e *examination) isAboutClaims(c check) bool {
	known := e.claimColumns()
	for _, column := range c.Columns {
		if !slices.Contains(known, column) {
			return false
		}
	}
	return slices.Contains(c.Columns, e.mapping.Status)
}

// shutOut are the statuses that a row can have in no form.
func (e *examination) shutOut(admitted map[state]bool) []string {
	var refused []string
	for _, value := range e.statuses() {
		in := false
		for s, ok := range admitted {
			in = in || ok && s.Status == value
		}
		if !in {
			refused = append(refused, value)
		}
	}
	return refused
}

func (e *examination) statusRefused(values []string, by, drop string) Finding {
	f := Finding{
		Code: StatusNotAllowed, Severity: Blocking, Slots: []string{"status"},
		Message: fmt.Sprintf("%s of column %s refuses %s, which the mapping names", by, quoted(e.mapping.Status), list(values)),
		Advice:  "let it take the value, or correct the statuses of the mapping",
	}
	if drop != "" {
		f.Statements = []string{drop}
	}
	return f
}

// lookAtConstraints asks for what keeps others from writing what a claim would
// never find. The relay's own statements do not rely on it.
func (e *examination) lookAtConstraints(ctx context.Context) error {
	m := e.mapping
	refused := map[state]bool{}
	for _, c := range e.checks {
		if !c.Validated || !e.isAboutClaims(c) {
			continue
		}
		admitted, known, err := e.admitted(ctx, c.Expression)
		if err != nil {
			return err
		}
		for s, ok := range admitted {
			refused[s] = known && !ok || refused[s]
		}
	}
	bare := func(status string) bool { return status != "" && !refused[state{Status: status}] }
	if bare(m.InProgress) {
		e.find(e.unchecked(LeaseUnchecked, []string{"status", "lease_until"}, m.InProgress, m.LeaseUntil,
			"nothing keeps a row from being claimed without a lease, which no relay would ever take"))
	}
	if m.FailedAt != "" && bare(m.Failed) {
		e.find(e.unchecked(FailedUnchecked, []string{"status", "failed_at"}, m.Failed, m.FailedAt,
			"nothing keeps a row from being given up without the time of it, by which it is found"))
	}
	return nil
}

// unchecked asks for one direction only: a consumer that is faster than the relay
// moves a claimed row on, and leaves the lease behind.
func (e *examination) unchecked(code string, slots []string, status, column, message string) Finding {
	name := clip(e.table.Name, "_"+slots[1]+"_check")
	add := fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s CHECK (%s <> %s OR %s IS NOT NULL) NOT VALID;",
		e.table.SQL(), quoted(name), quoted(e.mapping.Status), typed(status), quoted(column))
	validate := fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s;", e.table.SQL(), quoted(name))
	f := Finding{
		Code: code, Severity: Warning, Slots: slots, Message: message, creates: true,
		Advice:     "add the constraint; to validate it reads the table once without blocking anybody, and fails if there are such rows",
		Statements: []string{add, validate},
	}
	if slices.ContainsFunc(e.checks, func(c check) bool { return c.Name == name }) {
		f.Statements = []string{validate} // It was added before, and rows of then were in the way.
	}
	return f
}

// clip keeps a name within PostgreSQL's limit.
func clip(name, suffix string) string {
	const longest = 63
	for len(name)+len(suffix) > longest {
		runes := []rune(name)
		name = string(runes[:len(runes)-1])
	}
	return name + suffix
}
