package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/relayfleet/relayfleet/hack/database/pgbouncer"
	"github.com/relayfleet/relayfleet/relay/report"
	"github.com/relayfleet/relayfleet/relay/settings"
)

// Rows that say what cannot be sent fail alone, with a reason; a row that is
// nobody's stays as it is; a row without a key goes anywhere. None of them keeps
// another.
func TestRowsThatCannotBeSentFailAloneAndVisibly(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.exec("ALTER TABLE outbox DROP CONSTRAINT outbox_headers_check, DROP CONSTRAINT outbox_status_check, ALTER headers DROP NOT NULL, ALTER event_id DROP NOT NULL")
	f.exec(`INSERT INTO outbox (event_id, key, payload, headers, status) VALUES
		(gen_random_uuid(), 'a', 'array', '["x"]', 'READY'),
		(gen_random_uuid(), 'b', 'number', '{"x": 1}', 'READY'),
		(gen_random_uuid(), 'c', 'nothing', 'null', 'READY'),
		(NULL, 'd', 'no identity', '{}', 'READY'),
		(gen_random_uuid(), 'e', 'no headers', NULL, 'READY'),
		(gen_random_uuid(), NULL, 'no key', '{"x": "y"}', 'READY'),
		(gen_random_uuid(), '', 'an empty key', '{}', 'READY'),
		(gen_random_uuid(), 'f', NULL, '{}', 'READY'),
		(gen_random_uuid(), 'g', 'no such status', '{}', 'ready')`)
	f.settings.Retry = settings.Retry{MaxAttempts: 1, MaxAgeSeconds: new(0)}
	r := f.start()
	require.True(t, f.becomesTrue("SELECT count(*) = 8 FROM outbox WHERE status IN ('SENT', 'FAILED')", soon))
	require.EqualValues(t, 4, f.count("status = 'SENT'"))
	require.EqualValues(t, 1, f.count("status = 'ready' AND generation = 0"))
	for payload, reason := range map[string]string{
		"array": "headers is not a JSON object", "number": "headers has a value that is not a string",
		"nothing": "headers is not a JSON object", "no identity": "the event has no identity: a consumer could not recognise a duplicate",
	} {
		require.EqualValues(t, 1, f.count("status = 'FAILED' AND payload = $1::text::bytea AND last_error = $2", payload, reason), payload)
	}
	r.await("what failed", func(c report.Report) bool { return c.Backlog != nil && c.Backlog.Failed == 4 })

	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addresses()...), kgo.ConsumeTopics(f.name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	defer client.Close()
	keys := map[string]*string{}
	for len(keys) < 4 {
		fetches := client.PollRecords(t.Context(), 4)
		require.NoError(t, fetches.Err())
		for _, record := range fetches.Records() {
			key := (*string)(nil)
			if record.Key != nil {
				key = new(string(record.Key))
			}
			keys[string(record.Value)] = key
		}
	}
	require.Equal(t, map[string]*string{"no key": nil, "an empty key": new(""), "no headers": new("e"), "": new("f")}, keys)
}

// What stops nothing is reported, and the relay works.
func TestWhatIsFoundAtTheTableIsReported(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.exec("DROP INDEX outbox_suspects; ALTER TABLE outbox DROP CONSTRAINT outbox_check")
	f.exec("INSERT INTO outbox (event_id, status) VALUES (gen_random_uuid(), 'INPROGRESS')")
	f.produce(200)
	f.consume()
	r := f.start()
	r.await("findings", func(c report.Report) bool { return len(c.Findings) > 0 })
	require.Equal(t, []report.Code{"LeaseUnchecked", "IndexMissing"}, r.report().Findings)
	require.True(t, f.becomesTrue("SELECT count(*) = 200 FROM outbox WHERE status = 'SENT'", soon))
	require.Contains(t, r.text(), "CREATE INDEX CONCURRENTLY")
}

// A relay behind PgBouncer in transaction mode that is told of it.
func TestARelayBehindAPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	changing.Lock()
	pooler := pgbouncer.StartForTest(t, database, pgbouncer.Options{Roles: []string{f.role}, PoolSize: 4})
	changing.Unlock()
	f.write("uri", pooler.URI(f.name, f.role))
	f.settings.Database.Pooling = settings.PoolingTransaction
	f.produce(2000)
	f.consume()
	first, second := f.start(), f.start()
	require.Empty(t, f.verdict().Duplicates)
	first.awaitRunning()
	second.awaitRunning()
	require.EqualValues(t, 2000, f.count("status = 'SENT' AND attempts = 1"))
}
