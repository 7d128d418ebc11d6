package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

func TestMain(m *testing.M) { database.Main(m) }

func doctor(d database.Database, db *outbox.DB) *schema.Doctor {
	return schema.New(db, d.Table, d.Mapping, schema.Use{})
}

func TestTableThatServes(t *testing.T) {
	d := database.New(t)
	require.NoError(t, doctor(d, d.Open(t)).Check(t.Context()))
}

func TestNamesAreTakenVerbatim(t *testing.T) {
	d := database.NewNamed(t, outbox.Table{Schema: `Shop "1"`, Name: `out; DROP TABLE "box"`})
	db := d.Open(t)
	require.NoError(t, doctor(d, db).Check(t.Context()))
	d.Table.Schema = `shop "1"`
	requireProblem(t, doctor(d, db).Check(t.Context()), outbox.TableMissing)
}

func requireProblem(t *testing.T, err error, code string, slots ...string) {
	t.Helper()
	require.Error(t, err)
	problem := outbox.Classify(err)
	require.Equal(t, code, problem.Code, err)
	require.Equal(t, slots, problem.Slots)
}

// Each finding names all that it is about at once, and is gone when it is
// mended, without another connection.
func TestFindings(t *testing.T) {
	for name, test := range map[string]struct {
		harm, mend string
		code       string
		slots      []string
	}{
		"no table": {
			"ALTER TABLE outbox RENAME TO another", "ALTER TABLE another RENAME TO outbox", outbox.TableMissing, nil,
		},
		"a view is no table": {
			"ALTER TABLE outbox RENAME TO another; CREATE VIEW outbox AS SELECT * FROM another",
			"DROP VIEW outbox; ALTER TABLE another RENAME TO outbox", outbox.TableMissing, nil,
		},
		"columns missing": {
			"ALTER TABLE outbox DROP COLUMN last_error, DROP COLUMN claim_token",
			"ALTER TABLE outbox ADD COLUMN last_error text, ADD COLUMN claim_token uuid; " +
				"GRANT UPDATE (last_error, claim_token) ON outbox TO PUBLIC",
			outbox.ColumnsMissing,
			[]string{"claim_token", "last_error"},
		},
		"columns mistyped": {
			"ALTER TABLE outbox ALTER attempts TYPE numeric, ALTER sent_at TYPE timestamp",
			"ALTER TABLE outbox ALTER attempts TYPE integer, ALTER sent_at TYPE timestamptz",
			outbox.ColumnsMistyped,
			[]string{"attempts", "sent_at"},
		},
		"no grant to write": {
			"REVOKE UPDATE (status, lease_until) ON outbox FROM %role", "GRANT UPDATE ON outbox TO %role",
			outbox.PermissionDenied,
			[]string{"status", "lease_until"},
		},
		"no grant on the schema": {
			"REVOKE USAGE ON SCHEMA public FROM %role, PUBLIC", "GRANT USAGE ON SCHEMA public TO %role",
			outbox.PermissionDenied,
			[]string{
				"id", "event_id", "topic", "key", "payload", "headers", "priority", "status", "generation", "claim_token", "attempts",
				"lease_until", "next_attempt_at", "created_at", "sent_at", "failed_at", "last_error",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := database.New(t)
			super, err := database.Server.Connect(t.Context(), d.Name)
			require.NoError(t, err)
			defer super.Close(t.Context())
			db := d.Open(t)
			database.Exec(t, super, strings.ReplaceAll(test.harm, "%role", d.Role))
			requireProblem(t, doctor(d, db).Check(t.Context()), test.code, test.slots...)
			database.Exec(t, super, strings.ReplaceAll(test.mend, "%role", d.Role))
			require.NoError(t, doctor(d, db).Check(t.Context()))
		})
	}
}
