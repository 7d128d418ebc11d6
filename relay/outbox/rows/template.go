package rows

import (
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

//go:embed *.sql fragments/*.sql
var files embed.FS

var (
	// hole matches a comment with the hole's name and the value behind it, or a
	// column of the outbox by its name in the Relayfleet table. In the comment of
	// an else a hole is its name in braces.
	hole  = regexp.MustCompile(`/\*([a-z_]+)\*/(?:'[^']*'|[\w.]+(?:::[\w.]+(?:\[\])?)?)|\bo\.([a-z_]+)\b`)
	brace = regexp.MustCompile(`\{([a-z_]+)\}`)
	// fragment matches a fragment with its markers.
	fragment = regexp.MustCompile(`(?s)/\*([a-z]+):\*/.*?/\*:[a-z]+\*/`)
	// reference matches a fragment in the comment of an else: its name alone.
	reference = regexp.MustCompile(`<([a-z]+)>`)
	parameter = regexp.MustCompile(`\$(\d+)`)
	blank     = regexp.MustCompile(`[ \t]*\n(?:[ \t]*\n)*`)
)

// rendering is what the statements of one table are made with.
type rendering struct {
	// can says what the table can do, by the names that conditions have.
	can map[string]bool
	// values are what holes are filled with.
	values map[string]string
	// columns are the quoted names of columns by their names in the Relayfleet table.
	columns map[string]string
}

// statement is a rendered statement. Its parameters are numbered anew, because
// what a table cannot do leaves gaps; params are the numbers in the file.
type statement struct {
	sql    string
	params []int
}

// args picks from all parameters of the file, in its numbering, those that the
// statement has.
func (s statement) args(all ...any) []any {
	chosen := make([]any, len(s.params))
	for i, n := range s.params {
		chosen[i] = all[n-1]
	}
	return chosen
}

// render renders the statement of that name. What comes from the mapping is put
// in last, so that a name that looks like a marker or a parameter is only a name.
func (r rendering) render(name string) statement {
	text := r.decide(expand(fragment, read(name+".sql")))
	text = r.decide(expand(reference, text))
	s := renumber(strings.TrimSpace(blank.ReplaceAllString(text, "\n")))
	s.sql = r.fill(s.sql)
	return s
}

// expand puts the fragments in place of what a pattern matches.
func expand(pattern *regexp.Regexp, text string) string {
	return pattern.ReplaceAllStringFunc(text, func(found string) string {
		return read("fragments/" + pattern.FindStringSubmatch(found)[1] + ".sql")
	})
}

func (r rendering) fill(text string) string {
	return hole.ReplaceAllStringFunc(text, func(found string) string {
		match := hole.FindStringSubmatch(found)
		if value, ok := r.values[match[1]]; ok {
			return value
		}
		if column, ok := r.columns[match[2]]; ok {
			return "o." + column
		}
		return found
	})
}

func read(path string) string {
	text, err := files.ReadFile(path)
	if err != nil {
		panic("rows: no file " + path) // Names are constants of this package.
	}
	lines := strings.Split(string(text), "\n")
	kept := lines[:0]
	for _, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			kept = append(kept, line)
		}
	}
	return strings.TrimRight(strings.Join(kept, "\n"), "\n")
}

// decide resolves the conditions, the innermost first.
func (r rendering) decide(text string) string {
	const begin, elseMark, end = "/*if ", "/*else", "/*end*/"
	for {
		at := strings.LastIndex(text, begin)
		if at < 0 {
			return text
		}
		name, rest, _ := strings.Cut(text[at+len(begin):], "*/")
		able, known := r.can[name]
		if !known {
			panic("rows: no ability " + name) // Names are constants of this package.
		}
		then, other, behind := "", "", ""
		endAt, elseAt := strings.Index(rest, end), strings.Index(rest, elseMark)
		if elseAt >= 0 && (endAt < 0 || elseAt < endAt) {
			then = rest[:elseAt]
			other, behind, _ = strings.Cut(rest[elseAt+len(elseMark):], "*/")
			other = brace.ReplaceAllString(other, "/*$1*/x")
		} else {
			then, behind = rest[:endAt], rest[endAt+len(end):]
		}
		if able {
			other = then
		}
		text = text[:at] + other + behind
	}
}

// renumber numbers the parameters from 1 on, without gaps, in the order of their
// numbers in the file.
func renumber(text string) statement {
	used := map[int]bool{}
	for _, found := range parameter.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1]) // The pattern has digits only.
		used[n] = true
	}
	s := statement{}
	places := map[string]string{}
	for n := 1; len(s.params) < len(used); n++ {
		if used[n] {
			s.params = append(s.params, n)
			places[fmt.Sprintf("$%d", n)] = fmt.Sprintf("$%d", len(s.params))
		}
	}
	s.sql = parameter.ReplaceAllStringFunc(text, func(found string) string { return places[found] })
	return s
}
