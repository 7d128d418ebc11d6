package rows_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

func newStore(t testing.TB, d database.Database) *rows.Store {
	t.Helper()
	return openStore(t, d, d.Config())
}

func openStore(t testing.TB, d database.Database, config outbox.Config) *rows.Store {
	t.Helper()
	store, err := rows.New(database.Open(t, config), rows.Config{Table: d.Table, Mapping: d.Mapping, Lease: outboxtest.Lease})
	require.NoError(t, err)
	return store
}

// shape is what the catalogue says of a table.
func shape(t testing.TB, d database.Database) outbox.Shape {
	t.Helper()
	found, err := outbox.ReadShape(t.Context(), d.Owner, d.Table)
	require.NoError(t, err)
	return found
}

func claim(t *testing.T, store *rows.Store, limit int) event.Batch {
	t.Helper()
	batch, err := store.Claim(t.Context(), event.Ask{Rows: limit})
	require.NoError(t, err)
	return batch
}

func TestClaimReadsAllOfARow(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, topic, key, payload, headers, created_at) VALUES
		('01890a5d-ac96-774b-bcce-b302099a8057', 'own', 'k', '\x00ff', '{"b": "2", "a": "1"}', clock_timestamp() - interval '1 hour'),
		(gen_random_uuid(), NULL, NULL, NULL, '{}', clock_timestamp() + interval '1 hour'),
		(gen_random_uuid(), NULL, '', '', '{"n": 1}', clock_timestamp())`)
	events := claim(t, newStore(t, d), 10).Events
	require.Len(t, events, 3)

	full := events[0]
	require.Equal(t, "01890a5d-ac96-774b-bcce-b302099a8057", full.ID)
	require.Equal(t, "1", full.Row)
	require.Equal(t, "own", full.Topic)
	require.Equal(t, []byte("k"), full.Key)
	require.Equal(t, []byte{0, 0xff}, full.Payload)
	require.Equal(t, []event.Header{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("2")}}, full.Headers)
	require.InDelta(t, time.Hour.Seconds(), full.Age.Seconds(), 60)
	require.WithinDuration(t, time.Now().Add(-time.Hour), full.CreatedAt, time.Minute)
	require.Empty(t, full.Invalid)

	require.Empty(t, events[1].Topic)
	require.Nil(t, events[1].Key)
	require.Nil(t, events[1].Payload, "a tombstone")
	require.Empty(t, events[1].Headers)
	require.Zero(t, events[1].Age, "a clock that was ahead")

	require.NotNil(t, events[2].Key, "an empty key is a key")
	require.NotNil(t, events[2].Payload, "an empty payload is no tombstone")
	require.NotEmpty(t, events[2].Invalid)
}

func TestHeaders(t *testing.T) {
	for _, test := range []struct {
		json    string
		headers int
		valid   bool
	}{
		{``, 0, true},
		{`{}`, 0, true},
		{`{"traceparent": "00-ab", "": ""}`, 2, true},
		{`{"a": "\u0000"}`, 1, true},
		{`{"a": 1}`, 0, false},
		{`{"a": null}`, 0, false},
		{`{"a": "1", "b": {}}`, 0, false},
		{`[]`, 0, false},
		{`"text"`, 0, false},
		{`null`, 0, false},
		{`{"a"`, 0, false},
	} {
		headers, invalid := rows.ParseHeaders([]byte(test.json))
		require.Len(t, headers, test.headers, test.json)
		require.Equal(t, test.valid, invalid == "", test.json)
	}
}

// At the very moment at which a lease ends, a claim succeeds and a settle does
// not: there is no instant with two owners, and none without.
func TestTheInstantAtWhichALeaseEnds(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	batch := claim(t, newStore(t, d), 1)
	end := database.Query[time.Time](t, d.Owner, "SELECT lease_until FROM outbox")
	statements := rows.Statements(d.Table, d.Mapping, shape(t, d), 10)
	for _, test := range []struct {
		statement string
		args      []any
	}{
		{"settle_sent", nil},
		{"settle_retry", []any{map[string]int64{"1": 0}, map[string]string{"1": ""}}},
		{"settle_failed", []any{map[string]string{"1": ""}}},
		{"release", []any{true}},
		{"uncharge", []any{map[string]string{"1": "1"}}},
		{"renew", []any{time.Minute}},
	} {
		args := append([]any{uuid.UUID(batch.Token).String(), []int64{1}, []int64{1}}, test.args...)
		for at, changed := range map[time.Time]int64{end: 0, end.Add(time.Hour): 0, end.Add(-time.Microsecond): 1} {
			tx, err := d.Owner.Begin(t.Context())
			require.NoError(t, err)
			tag, err := tx.Exec(t.Context(), rows.AtTime(statements[test.statement].SQL, at), args...)
			require.NoError(t, err)
			require.Equal(t, changed, tag.RowsAffected(), "%s at %s", test.statement, at)
			require.NoError(t, tx.Rollback(t.Context()))
		}
	}
	args := []any{uuid.NewString(), time.Minute, "-infinity", "{}"}
	tag, err := d.Owner.Exec(t.Context(), rows.AtTime(statements["claim"].SQL, end.Add(-time.Microsecond)), args...)
	require.NoError(t, err)
	require.Zero(t, tag.RowsAffected())
	tag, err = d.Owner.Exec(t.Context(), rows.AtTime(statements["claim"].SQL, end), args...)
	require.NoError(t, err)
	require.Equal(t, int64(1), tag.RowsAffected())
}

func TestRenewalNamesItsRows(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) SELECT gen_random_uuid() FROM generate_series(1, 3)")
	store := newStore(t, d)
	batch := claim(t, store, 3)
	leases := "SELECT array_agg(lease_until ORDER BY id) FROM outbox"
	before := database.Query[[]time.Time](t, d.Owner, leases)
	settled, err := store.Renew(t.Context(), rows.Part(batch, 1))
	require.NoError(t, err)
	require.Equal(t, event.Settled{Renewed: 1}, settled)
	after := database.Query[[]time.Time](t, d.Owner, leases)
	require.Equal(t, before[0], after[0])
	require.True(t, after[1].After(before[1]))
	require.Equal(t, before[2], after[2])
}

// Whatever the role's default is, the claim's commit is durable, and one that
// is stronger stays so.
func TestClaimIsDurable(t *testing.T) {
	for level, want := range map[string]string{
		"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply",
	} {
		t.Run(level, func(t *testing.T) {
			d := database.New(t)
			database.Exec(t, d.Owner, `CREATE TABLE seen (level text); GRANT INSERT ON seen TO PUBLIC;
				CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
				CREATE TRIGGER look AFTER UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION look();
				INSERT INTO outbox (event_id) VALUES (gen_random_uuid())`)
			super, err := database.Server.Connect(t.Context(), d.Name)
			require.NoError(t, err)
			database.Exec(t, super, "ALTER ROLE "+d.Role+" SET synchronous_commit = "+level)
			require.NoError(t, super.Close(t.Context()))
			store := newStore(t, d)
			require.Len(t, claim(t, store, 1).Events, 1)
			require.Equal(t, want, database.Query[string](t, d.Owner, "SELECT level FROM seen"))
		})
	}
}

func TestPayloadsAreBounded(t *testing.T) {
	const budget = 1 << 20
	d := database.New(t)
	// Five rows of which two fit, and a small one.
	database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, payload)
		SELECT gen_random_uuid(), convert_to(repeat('x', $1::int), 'UTF8') FROM generate_series(1, 5)`, budget*2/5)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id, payload) VALUES (gen_random_uuid(), 'small')")
	store := newStore(t, d)
	var taken []string
	for range 10 {
		batch, err := store.Claim(t.Context(), event.Ask{Rows: 500, Bytes: budget})
		require.NoError(t, err)
		bytes := 0
		for _, e := range batch.Events {
			bytes += len(e.Payload)
			taken = append(taken, e.Row)
			require.Equal(t, 1, e.Attempts, "what did not fit got its attempt back")
		}
		require.LessOrEqual(t, bytes, budget)
	}
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6"}, taken)
}

// A claim does not look below its watermark, except now and then.
func TestWatermark(t *testing.T) {
	d := database.New(t)
	insertOld := "INSERT INTO outbox (event_id, next_attempt_at) VALUES (gen_random_uuid(), now() - interval '1 hour')"
	store := newStore(t, d)
	require.Empty(t, claim(t, store, 10).Events)
	database.Exec(t, d.Owner, insertOld)
	require.Empty(t, claim(t, store, 10).Events)
	store.SweepIsDue()
	batch := claim(t, store, 10)
	require.Len(t, batch.Events, 1)

	// What is only a little late waits for a far look, which comes soon.
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id, next_attempt_at) VALUES (gen_random_uuid(), now() - interval '1 second')")
	require.Eventually(t, func() bool { return len(claim(t, store, 10).Events) == 1 }, patience, time.Millisecond)

	// Nothing is due any more, so the watermark moves up; rows that are released
	// in an outage keep their due time, and are found all the same.
	require.Empty(t, claim(t, store, 10).Events)
	_, err := store.Release(t.Context(), batch, []int{0}, event.Outage)
	require.NoError(t, err)
	require.Len(t, claim(t, store, 10).Events, 1)
}
