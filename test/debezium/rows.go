package debezium

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

// Recording is a table of the router's, with a configuration of the router.
type Recording struct {
	// Name is the table's; testdata/NAME.json is what the router made of its rows.
	Name string
	// PayloadType is the type of the column payload.
	PayloadType string
	// Placement is table.fields.additional.placement; empty: the default, none.
	Placement string
	// Bare switches off, by extended.headers.enabled, the headers that tell about the
	// connector and its run.
	Bare bool
}

// Recordings are the tables.
var Recordings = []Recording{
	{Name: "outboxevent", PayloadType: "jsonb"},
	{Name: "outboxevent_json", PayloadType: "json"},
	{Name: "outboxevent_text", PayloadType: "text"},
	{Name: "outboxevent_placement", PayloadType: "jsonb", Placement: "type:header:eventType,aggregatetype:header", Bare: true},
}

// Partitions is how many partitions each topic has.
const Partitions = 12

// Topics are where the rows' messages go.
var Topics = []string{"outbox.event.order", "outbox.event.Customer_v1.x-y"}

// row is one event. What is empty is an empty text.
type row struct {
	topic, key, kind string
	// payload is SQL.
	payload string
}

// rows has what the router may treat in a way of its own.
var rows = []row{
	{"order", "1", "Created", `'{"a": 1}'`},
	{"order", "1", "Created", `'{"a":1,"b":[1,2,{"c":null}]}'`},
	{"order", "2", "Created", `'  { "spaces" :   [ 1 ,2 ]  } '`},
	{"order", "key with spaces", "Created", `'{"z": 1, "a": 2, "aa": 3}'`},
	{"order", "Schlüssel-日本-🙂", "Umlaut ä", `'{"text": "äöü 日本語 🙂 \u00e9 \" \\ / \n"}'`},
	{"order", "numbers", "Numbers", `'{"n": [1.0, 1.10, 1e3, 1E-7, -0.0, 0, 12345678901234567890, 9007199254740993, 1.7976931348623157e308]}'`},
	{"order", "decimal", "Numbers", `'3.140'`},
	{"order", "string", "Scalar", `'"text"'`},
	{"order", "empty string", "Scalar", `'""'`},
	{"order", "json null", "Scalar", `'null'`},
	{"order", "true", "Scalar", `'true'`},
	{"order", "empty object", "Empty", `'{}'`},
	{"order", "empty array", "Empty", `'[]'`},
	{"order", "null", "Deleted", `NULL`},
	{"order", "duplicate names", "Created", `'{"a": 1, "a": 2}'`},
	{"order", "deep", "Created", `'{"a":{"b":{"c":{"d":[[[[{"e":{}}]]]]}}}}'`},
	{"order", "large", "Created", `('{"filler": "' || repeat('x', 5000) || '"}')`},
	{"order", "", "Empty key", `'{"empty": "key"}'`},
	{"Customer_v1.x-y", "1", "Created", `'{"another": "topic"}'`},
}

// CreateTable makes the recording's table, without rows.
func (r Recording) CreateTable(ctx context.Context, conn *pgx.Conn) error {
	ddl, err := schema.DDL("Debezium", r.Table())
	if err != nil {
		return err
	}
	table := pgx.Identifier{r.Name}.Sanitize()
	_, err = conn.Exec(ctx, ddl+fmt.Sprintf("ALTER TABLE %s ALTER COLUMN payload TYPE %s USING NULL;", table, r.PayloadType))
	return err
}

// Table is the recording's table.
func (r Recording) Table() outbox.Table { return outbox.Table{Schema: "public", Name: r.Name} }

// Insert inserts the rows, one transaction each.
func (r Recording) Insert(ctx context.Context, conn *pgx.Conn) error {
	for i, row := range rows {
		statement := fmt.Sprintf("INSERT INTO %s (id, aggregatetype, aggregateid, type, payload) VALUES ($1, $2, $3, $4, %s::%s)",
			pgx.Identifier{r.Name}.Sanitize(), row.payload, r.PayloadType)
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		if _, err := conn.Exec(ctx, statement, id, row.topic, row.key, row.kind); err != nil {
			return fmt.Errorf("insert row %d: %w", i, err)
		}
	}
	return nil
}

// Count is how many rows Insert inserts.
func Count() int { return len(rows) }
