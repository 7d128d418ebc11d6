package schema_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

var presets = []string{"Relayfleet", "Lab", "StatusCodes", "Token", "Debezium"}

func examine(t *testing.T, d *schema.Doctor) schema.Report {
	t.Helper()
	report, err := d.Examine(t.Context())
	require.NoError(t, err)
	return report
}

// What schema print prints is what schema check asks for.
func TestThePresetsHaveNoFindings(t *testing.T) {
	for _, preset := range presets {
		t.Run(preset, func(t *testing.T) {
			d := database.NewPreset(t, preset, outbox.Table{Schema: "shop", Name: "outbox"})
			use := schema.Use{Retention: &rows.Retention{}}
			database.Exec(t, d.Owner, rows.RetentionIndex(d.Table, d.Mapping, *use.Retention).Create)
			database.Exec(t, d.Owner, "GRANT DELETE ON TABLE shop.outbox TO "+d.Role)
			report := examine(t, schema.New(d.Open(t), d.Table, d.Mapping, use))
			require.Empty(t, report.Findings)
			require.Equal(t, "read committed", report.Server.Isolation)
			require.Equal(t, "on", report.Server.SynchronousCommit)
			require.NotEmpty(t, report.Server.Version)
		})
	}
}

func TestOrderedTablesHaveNoFindings(t *testing.T) {
	for name, order := range map[string]rows.Order{
		"by key": {ByKey: true, Halt: true}, "by priority": {ByPriority: true, OldestPercent: 10},
	} {
		t.Run(name, func(t *testing.T) {
			d := database.New(t)
			for _, index := range rows.OrderIndexes(d.Table, d.Mapping, order) {
				database.Exec(t, d.Owner, index.Create)
			}
			require.Empty(t, examine(t, schema.New(d.Open(t), d.Table, d.Mapping, schema.Use{Order: order})).Findings)
		})
	}
}

// illness is one thing that is wrong, and how it is mended. Without a mend, the
// finding's own statements must do.
type illness struct {
	name       string
	harm, mend string
	use        schema.Use
	code       string
	severity   schema.Severity
	slots      []string
	message    string
}

var illnesses = []illness{
	{
		name: "an order without a number that rises", code: outbox.ColumnsMistyped, severity: schema.Blocking, slots: []string{"sequence"}, message: "CACHE 1",
		use: schema.Use{Order: rows.Order{ByKey: true}}, harm: "CREATE INDEX ON outbox (key, id) WHERE status IN ('READY', 'INPROGRESS'); ALTER TABLE outbox ALTER id SET CACHE 50",
		mend: "ALTER TABLE outbox ALTER id SET CACHE 1",
	}, {
		name: "no grant", code: outbox.PermissionDenied, severity: schema.Blocking, slots: []string{"status", "lease_until"},
		harm: "REVOKE UPDATE (status, lease_until) ON outbox FROM %role",
	}, {
		name: "a column is missing", code: outbox.ColumnsMissing, severity: schema.Blocking, slots: []string{"last_error"},
		harm: "ALTER TABLE outbox DROP COLUMN last_error", mend: "ALTER TABLE outbox ADD COLUMN last_error text; GRANT UPDATE (last_error) ON outbox TO %role",
	}, {
		name: "a column of the claim is generated", code: schema.ColumnsUnwritable, severity: schema.Blocking, slots: []string{"last_error"},
		harm: "ALTER TABLE outbox DROP COLUMN last_error, ADD COLUMN last_error text GENERATED ALWAYS AS ('nothing ' || status) STORED; GRANT UPDATE (last_error) ON outbox TO %role",
	}, {
		name: "the key is not unique", harm: "ALTER TABLE outbox DROP CONSTRAINT outbox_pkey",
		code: schema.IDNotUnique, severity: schema.Blocking, slots: []string{"id"}, message: `the values of "id"`,
	}, {
		name: "the key is unique in part of the table", code: schema.IDNotUnique, severity: schema.Blocking, slots: []string{"id"},
		harm: "ALTER TABLE outbox DROP CONSTRAINT outbox_pkey; CREATE UNIQUE INDEX part ON outbox (id) WHERE status = 'READY'",
	}, {
		name: "the lease refuses NULL", code: schema.ColumnsUnwritable, severity: schema.Blocking, slots: []string{"claim_token"},
		harm: "ALTER TABLE outbox ALTER claim_token SET NOT NULL",
	}, {
		name: "a CHECK refuses FAILED", code: schema.StatusNotAllowed, severity: schema.Blocking, slots: []string{"status"},
		harm: "ALTER TABLE outbox ADD CONSTRAINT own CHECK (status IN ('READY', 'INPROGRESS', 'SENT'))", message: `"own"`,
	}, {
		name: "a CHECK refuses INPROGRESS, whatever it is written like", code: schema.StatusNotAllowed, severity: schema.Blocking, slots: []string{"status"},
		harm: "ALTER TABLE outbox ADD CONSTRAINT own CHECK (length(status) < 8) NOT VALID", message: "INPROGRESS",
	}, {
		name: "an enum lacks FAILED", code: schema.StatusNotAllowed, severity: schema.Blocking, slots: []string{"status"},
		harm: `ALTER TABLE outbox DROP CONSTRAINT outbox_status_check, DROP CONSTRAINT outbox_check, DROP CONSTRAINT outbox_check1;
			DROP INDEX outbox_queue, outbox_suspects, outbox_failed;
			CREATE TYPE state AS ENUM ('READY', 'INPROGRESS', 'SENT');
			ALTER TABLE outbox ALTER status DROP DEFAULT, ALTER status TYPE state USING status::state`,
		mend: `ALTER TYPE state ADD VALUE 'FAILED'`, message: "FAILED",
	}, {
		name: "row security", code: schema.RowSecurity, severity: schema.Blocking, harm: "ALTER TABLE outbox ENABLE ROW LEVEL SECURITY",
	}, {
		name: "columns may be NULL", code: schema.ColumnsNullable, severity: schema.Warning,
		harm:  "ALTER TABLE outbox ALTER status DROP NOT NULL, ALTER next_attempt_at DROP NOT NULL, ALTER attempts DROP NOT NULL",
		slots: []string{"status", "attempts", "next_attempt_at"},
	}, {
		name: "no CHECK of the lease", code: schema.LeaseUnchecked, severity: schema.Warning, slots: []string{"status", "lease_until"},
		harm: "ALTER TABLE outbox DROP CONSTRAINT outbox_check",
	}, {
		name: "the wrong half of a CHECK of the lease", code: schema.LeaseUnchecked, severity: schema.Warning, slots: []string{"status", "lease_until"},
		harm: "ALTER TABLE outbox DROP CONSTRAINT outbox_check, ADD CHECK (status = 'INPROGRESS' OR lease_until IS NULL)",
	}, {
		name: "a CHECK of the lease that was never validated", code: schema.LeaseUnchecked, severity: schema.Warning, slots: []string{"status", "lease_until"},
		harm: "ALTER TABLE outbox DROP CONSTRAINT outbox_check, ADD CHECK ((status = 'INPROGRESS') = (lease_until IS NOT NULL)) NOT VALID",
	}, {
		name: "no CHECK of the failures", code: schema.FailedUnchecked, severity: schema.Warning, slots: []string{"status", "failed_at"},
		harm: "ALTER TABLE outbox DROP CONSTRAINT outbox_check1",
	}, {
		name: "no index for claims", code: schema.IndexMissing, severity: schema.Warning, harm: "DROP INDEX outbox_queue", message: "claims and the backlog",
	}, {
		name: "no index for suspects", code: schema.IndexMissing, severity: schema.Warning, harm: "DROP INDEX outbox_suspects", message: "suspects",
	}, {
		name: "an index in another order", code: schema.IndexDifferent, severity: schema.Warning, message: `"outbox_failed"`,
		harm: "DROP INDEX outbox_failed; CREATE INDEX outbox_failed ON outbox (failed_at DESC, id) WHERE status = 'FAILED'",
	}, {
		name: "an index with another predicate", code: schema.IndexDifferent, severity: schema.Warning, message: `"outbox_queue"`,
		harm: `DROP INDEX outbox_queue; CREATE INDEX outbox_queue ON outbox
			((CASE WHEN status = 'INPROGRESS' THEN lease_until ELSE next_attempt_at END), id) WHERE status <> 'SENT'`,
	}, {
		name: "an index with another key", code: schema.IndexDifferent, severity: schema.Warning, message: `"outbox_queue"`,
		harm: `DROP INDEX outbox_queue; CREATE INDEX outbox_queue ON outbox (next_attempt_at, id)
			WHERE status = ANY ('{READY,INPROGRESS}') AND (status <> 'INPROGRESS' OR attempts < 2)`,
	}, {
		name: "an index that is not valid", code: schema.IndexInvalid, severity: schema.Warning, message: `"outbox_failed"`,
		harm: "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'outbox_failed'::regclass",
	}, {
		name: "no index for claims in the order of keys", code: schema.IndexMissing, severity: schema.Warning, message: "order of keys",
		use: schema.Use{Order: rows.Order{ByKey: true}}, harm: "CREATE INDEX ON outbox (payload, id) WHERE status IN ('READY', 'INPROGRESS')",
	}, {
		name: "no index for what is halted", code: schema.IndexMissing, severity: schema.Warning, message: "halts",
		use:  schema.Use{Order: rows.Order{ByKey: true, Halt: true}},
		harm: "CREATE INDEX ON outbox (key, id) WHERE status IN ('READY', 'INPROGRESS')",
	}, {
		name: "no index for claims by priority", code: schema.IndexMissing, severity: schema.Warning, message: "priority",
		use: schema.Use{Order: rows.Order{ByPriority: true, OldestPercent: 10}},
	}, {
		name: "the planner uses no index", code: schema.PlanUnsuitable, severity: schema.Warning, message: "claim",
		harm: "ALTER ROLE %role SET enable_indexscan = off; ALTER ROLE %role SET enable_indexonlyscan = off", mend: "ALTER ROLE %role RESET ALL",
	}, {
		name: "retention without a grant", code: schema.DeleteDenied, severity: schema.Warning, use: schema.Use{Retention: &rows.Retention{}},
		harm: "CREATE INDEX ON outbox (sent_at, id) WHERE status = 'SENT'",
	}, {
		name: "retention without an index", code: schema.IndexMissing, severity: schema.Warning, use: schema.Use{Retention: &rows.Retention{}},
		harm: "GRANT DELETE ON outbox TO %role", message: "deletion",
	}, {
		name: "retention and foreign keys", code: schema.ForeignKeys, severity: schema.Warning, use: schema.Use{Retention: &rows.Retention{}},
		harm: `CREATE INDEX ON outbox (sent_at, id) WHERE status = 'SENT'; GRANT DELETE ON outbox TO %role;
			CREATE TABLE receipt (outbox bigint REFERENCES outbox)`,
		mend: "DROP TABLE receipt", message: "public.receipt.receipt_outbox_fkey",
	}, {
		name: "triggers", code: schema.UpdateTriggers, severity: schema.Warning, message: "settle: audit, touch",
		harm: `CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
			CREATE TRIGGER audit AFTER INSERT OR UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION nothing();
			CREATE TRIGGER touch BEFORE UPDATE OF status ON outbox FOR EACH ROW EXECUTE FUNCTION nothing();
			CREATE TRIGGER elsewhere BEFORE UPDATE OF payload ON outbox FOR EACH ROW EXECUTE FUNCTION nothing();
			CREATE TRIGGER statements AFTER UPDATE ON outbox EXECUTE FUNCTION nothing();
			CREATE TRIGGER inserts AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION nothing();
			CREATE TRIGGER disabled BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION nothing();
			ALTER TABLE outbox DISABLE TRIGGER disabled`,
		mend: "DROP TRIGGER audit ON outbox; DROP TRIGGER touch ON outbox",
	}, {
		name: "autovacuum by a share of the table", code: schema.AutovacuumSlow, severity: schema.Warning,
		harm: "ALTER TABLE outbox RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold)",
	}, {
		name: "autovacuum is off", code: schema.AutovacuumSlow, severity: schema.Warning,
		harm: "ALTER TABLE outbox SET (autovacuum_enabled = false)", mend: "ALTER TABLE outbox RESET (autovacuum_enabled)",
	}, {
		name: "asynchronous commits", code: schema.AsynchronousCommit, severity: schema.Warning,
		harm: "ALTER ROLE %role SET synchronous_commit = off", mend: "ALTER ROLE %role RESET synchronous_commit",
	}, {
		name: "claimed rows without a lease", code: schema.RowsWithoutLease, severity: schema.Warning, slots: []string{"status", "lease_until"},
		harm: `ALTER TABLE outbox DROP CONSTRAINT outbox_check;
			INSERT INTO outbox (event_id, status, attempts) SELECT gen_random_uuid(), 'INPROGRESS', n FROM generate_series(0, 4) AS n`,
		message: "5 claimed rows",
	}, {
		name: "waiting rows without a due time", code: schema.RowsWithoutDueTime, severity: schema.Warning, slots: []string{"next_attempt_at"},
		harm: `ALTER TABLE outbox ALTER next_attempt_at DROP NOT NULL;
			INSERT INTO outbox (event_id, next_attempt_at) SELECT gen_random_uuid(), NULL FROM generate_series(1, 1200) AS n`,
		message: "at least 1000 waiting rows",
	}, {
		name: "waiting rows with a lease", code: schema.StrayLeases, severity: schema.Warning, slots: []string{"lease_until"},
		harm: `ALTER TABLE outbox DROP CONSTRAINT outbox_check;
			INSERT INTO outbox (event_id, lease_until) VALUES (gen_random_uuid(), now()), (gen_random_uuid(), now())`,
		message: "2 waiting rows",
	},
}

func TestIllnesses(t *testing.T) {
	for _, ill := range illnesses {
		t.Run(ill.name, func(t *testing.T) { ill.test(t) })
	}
}

func (ill illness) test(t *testing.T) {
	d := database.New(t)
	super, err := database.Server.Connect(t.Context(), d.Name)
	require.NoError(t, err)
	defer super.Close(t.Context())
	exec := func(sql string) { t.Helper(); database.Exec(t, super, strings.ReplaceAll(sql, "%role", d.Role)) }
	if ill.harm != "" {
		exec(ill.harm)
	}

	db := d.Open(t)
	doctor := schema.New(db, d.Table, d.Mapping, ill.use)
	found := find(examine(t, doctor), ill.code)
	require.NotNil(t, found, "no finding")
	require.Equal(t, ill.severity, found.Severity)
	require.Equal(t, ill.slots, found.Slots)
	require.Contains(t, found.Message, ill.message)
	require.NotEmpty(t, found.Advice)
	if ill.severity == schema.Blocking {
		requireProblem(t, doctor.Check(t.Context()), ill.code, ill.slots...)
	} else {
		require.NoError(t, doctor.Check(t.Context()))
	}

	if ill.mend != "" {
		exec(ill.mend)
		db.Reconnect()
	} else {
		require.NotEmpty(t, found.Statements)
		for _, statement := range found.Statements {
			// Each may be one that takes no transaction around it.
			exec(statement)
		}
	}
	require.Nil(t, find(examine(t, doctor), ill.code), "the finding is still there")
}

// An examination costs a large table no more than a small one: whatever waits, is
// stranded or is done in it.
func TestAnExaminationOfALargeTableReadsLittle(t *testing.T) {
	const many = 200_000
	d := database.New(t)
	database.Exec(t, d.Owner, "ALTER TABLE outbox DROP CONSTRAINT outbox_check, ALTER next_attempt_at DROP NOT NULL, SET (autovacuum_enabled = false)")
	for _, kind := range []string{
		"'SENT', 1, now()", "'READY', 0, now()", "'READY', 0, NULL", "'INPROGRESS', 1, now()", "'INPROGRESS', 3, now()",
	} {
		database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, status, attempts, next_attempt_at)
			SELECT gen_random_uuid(), `+kind+` FROM generate_series(1, $1::int)`, many/5)
	}
	db := d.Open(t)
	report := examine(t, doctor(d, db))
	for _, code := range []string{schema.RowsWithoutLease, schema.RowsWithoutDueTime} {
		require.Contains(t, find(report, code).Message, "at least 1000")
	}
	require.Nil(t, find(report, schema.PlanUnsuitable))
	db.Close() // A session hands its statistics in when it ends.
	require.Eventually(t, func() bool {
		return database.Query[int64](t, d.Owner, "SELECT sum(idx_scan)::bigint FROM pg_stat_user_indexes WHERE relname = 'outbox'") > 0
	}, time.Minute, 10*time.Millisecond)
	require.Zero(t, database.Query[int64](t, d.Owner, "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'outbox'"))
	require.Less(t, database.Query[int64](t, d.Owner, "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE relname = 'outbox'"), int64(20_000))
}

// What is evaluated may be others' functions, which must not write.
func TestAnExaminationWritesNothing(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, `CREATE TABLE trace (n int);
		GRANT INSERT ON trace TO PUBLIC;
		CREATE FUNCTION writes(text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.trace VALUES (1); RETURN true; END';
		ALTER TABLE outbox ADD CHECK (writes(status))`)
	require.Empty(t, examine(t, doctor(d, d.Open(t))).Findings)
	require.Zero(t, database.Query[int64](t, d.Owner, "SELECT count(*) FROM trace"))
}

func find(r schema.Report, code string) *schema.Finding {
	for _, f := range r.Findings {
		if f.Code == code {
			return &f
		}
	}
	return nil
}
