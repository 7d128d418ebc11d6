package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/relayfleet/relayfleet/relay/publish"
	"github.com/relayfleet/relayfleet/relay/report"
)

func TestEverythingCommittedArrivesOnceAndNothingElse(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.produce(5000)
	f.consume()
	r := f.start()
	v := f.verdict()
	require.EqualValues(t, 5000, v.Received)
	require.Empty(t, v.Duplicates)
	require.EqualValues(t, 5000, f.count("status = 'SENT' AND attempts = 1 AND generation = 1 AND lease_until IS NULL"))

	r.await("an empty backlog", func(c report.Report) bool { return c.Backlog != nil && c.Backlog.Eligible == 0 })
	got := r.report()
	require.Equal(t, report.Running, got.State)
	require.EqualValues(t, 5000, got.Rates.Published)
	require.Zero(t, got.Rates.Stale)
	require.Equal(t, []string{"shop", "uid-of-" + f.name, "uid-of-" + r.Name}, []string{got.Namespace, got.Resource, got.Pod})
	ready, err := r.Ready(t.Context())
	require.NoError(t, err)
	require.True(t, ready)
}

func TestARecordIsWhatTheRowSays(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.exec(`INSERT INTO outbox (event_id, key, payload, headers, created_at)
		VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 'order-7', 'body', '{"content-type": "text/plain"}', '2026-01-02 03:04:05.678Z')`)
	f.start()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addresses()...), kgo.ConsumeTopics(f.name),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	require.NoError(t, err)
	defer client.Close()
	fetches := client.PollRecords(t.Context(), 1)
	require.NoError(t, fetches.Err())
	record := fetches.Records()[0]
	require.Equal(t, "order-7", string(record.Key))
	require.Equal(t, "body", string(record.Value))
	require.Equal(t, []kgo.RecordHeader{
		{Key: publish.EventIDHeader, Value: []byte("01890a5d-ac96-774b-bcce-b302099a8057")},
		{Key: "generation", Value: []byte("1")},
		{Key: "row-id", Value: []byte("1")},
		{Key: "created-at", Value: []byte("2026-01-02T03:04:05.678Z")},
		{Key: "content-type", Value: []byte("text/plain")},
	}, record.Headers)
}

func TestTwoRelaysShareATableAndSendEveryEventOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.consume()
	first, second := f.start(), f.start()
	first.awaitRunning()
	second.awaitRunning()
	f.produce(10000)
	v := f.verdict()
	require.Empty(t, v.Duplicates)
	require.EqualValues(t, 10000, f.count("status = 'SENT' AND attempts = 1 AND generation = 1"))
	one, two := first.report().Rates, second.report().Rates
	require.Positive(t, one.Published)
	require.Positive(t, two.Published)
	require.EqualValues(t, 10000, one.Published+two.Published)
	require.Zero(t, one.Stale+two.Stale)
}
