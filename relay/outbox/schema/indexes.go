package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// wanted are the indexes that the relay's statements rely on.
func (d *Doctor) wanted() []rows.Index {
	indexes := append(rows.Indexes(d.table, d.mapping), rows.OrderIndexes(d.table, d.mapping, d.use.Order)...)
	if d.use.Retention != nil {
		indexes = append(indexes, rows.RetentionIndex(d.table, d.mapping, *d.use.Retention))
	}
	return indexes
}

// lookAtIndexes compares what there is with what is wanted, by what it does and
// not by its name or its text.
func (e *examination) lookAtIndexes(ctx context.Context) error {
	for _, w := range e.wanted() {
		served, err := e.isServed(ctx, w)
		if err != nil {
			return err
		}
		if !served {
			e.find(e.indexFinding(w))
		}
	}
	return nil
}

// isServed: a usable index does the same.
func (e *examination) isServed(ctx context.Context, w rows.Index) (bool, error) {
	d := definitionOf(w.Create, e.table.SQL())
	for _, i := range e.indexes {
		if !i.Valid || i.Method != "btree" || !slices.Equal(i.Options, d.options) {
			continue
		}
		same, err := e.doesTheSame(ctx, i, d)
		if same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// doesTheSame tries both over the made-up rows: the same rows are in them, under
// the same keys.
func (e *examination) doesTheSame(ctx context.Context, i index, d definition) (bool, error) {
	tests := []string{fmt.Sprintf("bool_and(((%s) IS TRUE) = ((%s) IS TRUE))", i.Predicate, d.predicate)}
	for n, key := range d.keys {
		tests = append(tests, fmt.Sprintf("COALESCE(bool_and((%s) IS NOT DISTINCT FROM (%s)) FILTER (WHERE %s), true)", i.Keys[n], key, d.predicate))
	}
	found, err := askBy(ctx, e, pgx.RowTo[bool], "SELECT "+strings.Join(tests, " AND ")+" "+e.world())
	if cannotSay(err) {
		return false, nil
	}
	return err == nil && found[0], err
}

func (e *examination) indexFinding(w rows.Index) Finding {
	at := slices.IndexFunc(e.indexes, func(i index) bool { return i.Name == w.Name })
	name := quoted(w.Name)
	f := Finding{Severity: Warning, creates: true}
	switch {
	case at < 0:
		f.Code = IndexMissing
		f.Message = fmt.Sprintf("there is no index for %s: they read far more than they take", w.Serves)
		f.Advice = "create it; writers go on meanwhile"
		f.Statements = e.create(w)
	case !e.indexes[at].Valid:
		f.Code = IndexInvalid
		f.Message = fmt.Sprintf("index %s, for %s, is not valid: a CREATE INDEX CONCURRENTLY that made it has failed, or is under way", name, w.Serves)
		f.Advice = "drop it and make it anew; writers go on meanwhile"
		f.Statements = append([]string{e.drop(w)}, e.create(w)...)
	default:
		f.Code = IndexDifferent
		f.Message = fmt.Sprintf("index %s, for %s, has other keys or another predicate than the statements rely on", name, w.Serves)
		f.Advice = "drop it and make it anew, unless something else uses it: then rename it first; writers go on meanwhile"
		f.Statements = append([]string{e.drop(w)}, e.create(w)...)
		f.creates = false // Somebody may have had a reason.
	}
	return f
}

// create does not block writers. Of a partitioned table it makes one index after
// the other: a whole one cannot be made that way.
func (e *examination) create(w rows.Index) []string {
	const begin = "CREATE INDEX "
	table := " ON " + e.table.SQL()
	if !e.relation.Partitioned {
		return []string{strings.Replace(w.Create, begin, begin+"CONCURRENTLY ", 1)}
	}
	if slices.ContainsFunc(e.leaves, func(l leaf) bool { return l.Level != 1 }) {
		return []string{w.Create} // Partitions of partitions: all at once, and writers wait.
	}
	statements := []string{strings.Replace(w.Create, table, " ON ONLY "+e.table.SQL(), 1)}
	suffix := strings.TrimPrefix(w.Name, e.table.Name)
	for _, l := range e.leaves {
		name := quoted(clip(l.Name, suffix))
		made := strings.Replace(w.Create, begin+quoted(w.Name)+table, begin+"CONCURRENTLY IF NOT EXISTS "+name+" ON "+quoted(l.Schema)+"."+quoted(l.Name), 1)
		statements = append(statements, made,
			fmt.Sprintf("ALTER INDEX %s.%s ATTACH PARTITION %s.%s;", quoted(e.table.Schema), quoted(w.Name), quoted(l.Schema), name))
	}
	return statements
}

func (e *examination) drop(w rows.Index) string {
	name := quoted(e.table.Schema) + "." + quoted(w.Name)
	if e.relation.Partitioned {
		return "DROP INDEX " + name + ";"
	}
	return "DROP INDEX CONCURRENTLY " + name + ";"
}
