package schema

import (
	"embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

//go:embed *.sql
var files embed.FS

// DDL is the table of a preset under the name of table, with its indexes and with
// settings of autovacuum that keep claims fast. The
// error says that there is no such preset.
func DDL(preset string, table outbox.Table) (string, error) {
	m, ok := outbox.Preset(preset)
	if !ok {
		return "", fmt.Errorf("there is no preset %q", preset)
	}
	create := fill(strings.ToLower(preset)+".sql", map[string]string{"table": table.SQL()})
	return create + "ALTER TABLE " + table.SQL() + " SET (" + vacuuming + ");\n" + rows.CreateIndexes(table, m), nil
}

// Grants are what the role of a relay needs on table, and no more.
func Grants(table outbox.Table, m outbox.Mapping, role string) string {
	var columns []string
	for _, column := range m.WrittenColumns() {
		columns = append(columns, quoted(column))
	}
	return fill("grants.sql", map[string]string{
		"table": table.SQL(), "schema": quoted(table.Schema), "role": quoted(role), "columns": strings.Join(columns, ", "),
	})
}

// Print is all that a table of a preset needs to be used so: the table, its
// indexes, and the grants of the relays' role.
func Print(preset string, table outbox.Table, role string, use Use) (string, error) {
	ddl, err := DDL(preset, table)
	if err != nil {
		return "", err
	}
	mapping, _ := outbox.Preset(preset) // DDL has found it.
	d := New(nil, table, mapping, use)
	for _, index := range d.wanted()[len(rows.Indexes(table, mapping)):] {
		ddl += index.Create + "\n"
	}
	return ddl + "\n" + d.Grants(role), nil
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

var hole = regexp.MustCompile(`/\*([a-z]+)\*/[\w.]+`)

// fill replaces what the files stand with; see package rows for the form.
func fill(file string, values map[string]string) string {
	text, err := files.ReadFile(file)
	if err != nil {
		panic("schema: no file " + file) // Names are constants of this package and of the presets.
	}
	return hole.ReplaceAllStringFunc(string(text), func(found string) string {
		return values[hole.FindStringSubmatch(found)[1]]
	})
}
