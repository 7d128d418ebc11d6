package outbox

import "github.com/jackc/pgx/v5"

// Table names an outbox verbatim, as PostgreSQL's catalogue has it.
type Table struct{ Schema, Name string }

// SQL is the table's name as it stands in a statement: quoted, never resolved
// by a search path.
func (t Table) SQL() string { return pgx.Identifier{t.Schema, t.Name}.Sanitize() }
