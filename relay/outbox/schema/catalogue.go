package schema

import "embed"

//go:embed catalogue/*.sql
var catalogue embed.FS

// question is the text of a file of the folder catalogue.
func question(name string) string {
	text, err := catalogue.ReadFile("catalogue/" + name + ".sql")
	if err != nil {
		panic("schema: no file " + name) // Names are constants of this package.
	}
	return string(text)
}

// The answers of the questions of the same names.
type (
	relation struct {
		OID                                 int64
		Partitioned, RowSecurity, MayDelete bool
	}
	column struct {
		Name, Type, Base   string
		NotNull, Generated bool
	}
	check struct {
		Name, Expression string
		Validated        bool
		Columns          []string
	}
	index struct {
		Name          string
		Valid, Unique bool
		Method        string
		Keys          []string
		Options       []int32
		Predicate     string
		Columns       []string
	}
	leaf struct {
		Schema, Name               string
		Level                      int32
		Vacuumed                   bool
		Scale, Threshold           float64
		Inserted, Updated, Deleted int64
	}
	holder struct {
		Kind, Name   string
		Transactions int64
		Seconds      float64
	}
)
