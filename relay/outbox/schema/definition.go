package schema

import "strings"

// definition is what matters of an index: by which expressions it is ordered,
// and which rows are in it.
type definition struct {
	keys      []string
	options   []int32
	predicate string
}

// The options of a key, as PostgreSQL's catalogue counts them.
const (
	ascending  int32 = 0
	descending int32 = 3 // With NULLs first, as it is unless something else is said.
)

// definitionOf reads a CREATE INDEX of package rows for a table. It need not
// understand others': the keys stand in the first brackets behind the table's
// name, the predicate behind WHERE.
func definitionOf(create, table string) definition {
	_, rest, _ := strings.Cut(create, " ON "+table)
	keys, rest := bracketed(rest)
	d := definition{predicate: "true"}
	if _, predicate, found := strings.Cut(rest, "WHERE "); found {
		d.predicate = strings.TrimSuffix(strings.TrimSpace(predicate), ";")
	}
	for _, key := range split(keys) {
		key = strings.TrimSpace(key)
		column, isDescending := strings.CutSuffix(key, " DESC")
		d.keys = append(d.keys, column)
		if isDescending {
			d.options = append(d.options, descending)
		} else {
			d.options = append(d.options, ascending)
		}
	}
	return d
}

// bracketed returns what is in the first pair of brackets, and what follows it.
func bracketed(text string) (inside, rest string) {
	start, depth := -1, 0
	walk(text, func(at int, c byte) bool {
		switch c {
		case '(':
			if depth == 0 {
				start = at + 1
			}
			depth++
		case ')':
			if depth--; depth == 0 {
				inside, rest = text[start:at], text[at+1:]
				return false
			}
		}
		return true
	})
	return inside, rest
}

// split cuts a list at the commas that stand in no brackets.
func split(text string) (parts []string) {
	begin, depth := 0, 0
	walk(text, func(at int, c byte) bool {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts, begin = append(parts, text[begin:at]), at+1
			}
		}
		return true
	})
	return append(parts, text[begin:])
}

// walk visits the bytes that stand in no quotes, until visit is false. A doubled
// quote ends one text and begins another, which comes to the same.
func walk(text string, visit func(at int, c byte) bool) {
	var quote byte
	for at := range len(text) {
		c := text[at]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '\'' || c == '"':
			quote = c
		case !visit(at, c):
			return
		}
	}
}
