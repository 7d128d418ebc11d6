package load

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed check.sql
	checkSQL string
	//go:embed duplicates.sql
	duplicatesSQL string
	//go:embed order.sql
	orderSQL string
)

// Checker says what became of every event.
type Checker struct {
	Tables Tables
	// Faults explain duplicates; nil explains none.
	Faults *Faults
	// Lease is that of the relays: a fault explains only what was sent within a
	// lease of it.
	Lease time.Duration
	// Ordered makes the order within each key part of the verdict.
	Ordered bool
	// MayFail is how many FAILED rows are right.
	MayFail int64
	// MaySkip says that, in order, FAILED events may be passed by.
	MaySkip bool
}

// Verdict is what became of every event.
type Verdict struct {
	// Committed and Received count events, rolled-back ones not among the first.
	Committed, Received int64
	// Lost events are committed and neither received nor unsent nor FAILED.
	Lost       int64
	LostEvents []string // a few of them
	// Phantoms were received and never committed.
	Phantoms      int64
	PhantomEvents []string // a few of them
	// Unsent rows are READY or INPROGRESS: nothing can be said of them yet.
	Unsent int64
	// Failed rows are FAILED, MayFail of them rightly.
	Failed, MayFail int64
	// Misnamed records carry another identity in the header than in the payload.
	Misnamed int64
	// Duplicates are deliveries of events that had been delivered before.
	Duplicates []Duplicate
	// OutOfOrder counts events that came after a later one of their key, PassedBy
	// those that have not come, and are not FAILED, though a later one has, and
	// Skipped those that are FAILED; where the checker was asked for the order.
	OutOfOrder, PassedBy, Skipped int64
	// MaySkip is the checker's.
	MaySkip bool
}

// Check looks once. It is for a system at rest: what was sent and not yet
// received would be taken for lost. See Await.
func (c Checker) Check(ctx context.Context) (Verdict, error) {
	v := Verdict{MayFail: c.MayFail, MaySkip: c.MaySkip}
	err := c.Tables.pool.QueryRow(ctx, c.Tables.sql(checkSQL)).Scan(&v.Committed, &v.Received, &v.Lost, &v.LostEvents,
		&v.Phantoms, &v.PhantomEvents, &v.Unsent, &v.Failed, &v.Misnamed)
	if err != nil {
		return Verdict{}, fmt.Errorf("check: %w", err)
	}
	if v.Duplicates, err = c.duplicates(ctx); err != nil {
		return Verdict{}, fmt.Errorf("check duplicates: %w", err)
	}
	if c.Ordered {
		if err := c.Tables.pool.QueryRow(ctx, c.Tables.sql(orderSQL)).Scan(&v.OutOfOrder, &v.PassedBy, &v.Skipped); err != nil {
			return Verdict{}, fmt.Errorf("check the order: %w", err)
		}
	}
	return v, nil
}

func (c Checker) duplicates(ctx context.Context) ([]Duplicate, error) {
	rows, err := c.Tables.pool.Query(ctx, c.Tables.sql(duplicatesSQL))
	if err != nil {
		return nil, err
	}
	faults := c.Faults
	if faults == nil {
		faults = &Faults{}
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Duplicate, error) {
		var d Duplicate
		err := row.Scan(&d.EventID, &d.Earlier, &d.Again)
		d.Because = faults.explain(d, c.Lease)
		return d, err
	})
}

// awaitEvery is how often Await looks.
const awaitEvery = 200 * time.Millisecond

// Await waits until every committed event is received or FAILED and returns the
// verdict; after patience without any progress it returns the verdict as it is.
// Databases that cannot be reached are waited for.
func (c Checker) Await(ctx context.Context, patience time.Duration) (Verdict, error) {
	var seen [2]int64
	since := time.Now()
	for {
		now, err := c.progress(ctx)
		if err == nil && now != seen {
			seen, since = now, time.Now()
		}
		tired := time.Since(since) > patience
		if unsent := now[0]; tired || (err == nil && unsent == 0) {
			v, checkErr := c.Check(ctx)
			if tired || (checkErr == nil && v.Lost == 0 && v.Unsent == 0) {
				return v, checkErr
			}
		}
		if err := sleep(ctx, awaitEvery); err != nil {
			return Verdict{}, fmt.Errorf("await the end of the load: %w", err)
		}
	}
}

// progress returns how many rows are unsent and how many records have come.
func (c Checker) progress(ctx context.Context) (unsentAndReceived [2]int64, err error) {
	err = c.Tables.pool.QueryRow(ctx, c.Tables.sql(`
		SELECT (SELECT count(*) FROM /*outbox*/public.outbox WHERE status IN ('READY', 'INPROGRESS')),
		       (SELECT COALESCE(sum(deliveries), 0)::bigint FROM /*schema*/public.consumed)`),
	).Scan(&unsentAndReceived[0], &unsentAndReceived[1])
	return unsentAndReceived, err
}

// Unexplained are the duplicates that no recorded fault explains.
func (v Verdict) Unexplained() []Duplicate {
	return slices.DeleteFunc(slices.Clone(v.Duplicates), func(d Duplicate) bool { return d.Because.Kind != "" })
}

// Disordered counts the events that broke the order of their key.
func (v Verdict) Disordered() int64 {
	if v.MaySkip {
		return v.OutOfOrder + v.PassedBy
	}
	return v.OutOfOrder + v.PassedBy + v.Skipped
}

// Err is nil when everything is as it must be, and else names all that is not.
func (v Verdict) Err() error {
	var errs []error
	wrong := func(n int64, format string, args ...any) {
		if n > 0 {
			errs = append(errs, fmt.Errorf("%d %s", n, fmt.Sprintf(format, args...)))
		}
	}
	wrong(v.Lost, "events are lost: %s", strings.Join(v.LostEvents, ", "))
	wrong(v.Phantoms, "events were received that nobody committed: %s", strings.Join(v.PhantomEvents, ", "))
	wrong(v.Misnamed, "records name another event in the header than in the payload")
	wrong(v.Disordered(), "events came after a later one of their key, or not at all")
	wrong(v.Unsent, "rows are not sent yet")
	wrong(v.Failed-v.MayFail, "rows are FAILED that should not be")
	unexplained := v.Unexplained()
	wrong(int64(len(unexplained)), "duplicates are not explained by a fault: %s", examples(unexplained))
	return errors.Join(errs...)
}

func examples(duplicates []Duplicate) string {
	var texts []string
	for _, d := range duplicates[:min(len(duplicates), 3)] {
		texts = append(texts, fmt.Sprintf("%s at %s and %s", d.EventID, clock(d.Earlier), clock(d.Again)))
	}
	return strings.Join(texts, ", ")
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// String is the verdict in one line.
func (v Verdict) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "committed %d, received %d, lost %d, phantoms %d, duplicates %d%s",
		v.Committed, v.Received, v.Lost, v.Phantoms, len(v.Duplicates), v.causes())
	for _, more := range []struct {
		count int64
		what  string
	}{{v.Unsent, "unsent"}, {v.Failed, "FAILED"}, {v.Misnamed, "misnamed"}, {v.OutOfOrder, "out of order"}, {v.PassedBy, "passed by"}, {v.Skipped, "skipped"}} {
		if more.count > 0 {
			fmt.Fprintf(&text, ", %s %d", more.what, more.count)
		}
	}
	return text.String()
}

// causes counts the duplicates by what explains them.
func (v Verdict) causes() string {
	if len(v.Duplicates) == 0 {
		return ""
	}
	counts := map[string]int{}
	for _, d := range v.Duplicates {
		kind := d.Because.Kind
		if kind == "" {
			kind = "unexplained"
		}
		counts[kind]++
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%s: %d", kind, counts[kind]))
	}
	return " (" + strings.Join(texts, ", ") + ")"
}
