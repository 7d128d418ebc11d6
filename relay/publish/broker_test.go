package publish_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

const (
	fleetTopic = "orders.events"
	// soon is far more than anything here takes on a busy machine.
	soon = 30 * time.Second
)

func newCluster(t testing.TB, options ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(4, fleetTopic)}, options...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func newProducer(t testing.TB, servers []string, change ...func(*publish.Config)) *publish.Producer {
	t.Helper()
	config := publish.Config{Servers: servers, Topic: fleetTopic, RequestTimeout: time.Second}
	for _, c := range change {
		c(&config)
	}
	p, err := publish.New(config)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// numbered are n small events with a key each.
func numbered(n int) event.Batch {
	events := make([]event.Event, n)
	for i := range events {
		id := fmt.Sprintf("event-%04d", i)
		events[i] = event.Event{ID: id, Key: []byte("key-" + id), Payload: []byte("payload of " + id)}
	}
	return event.Batch{Events: events}
}

func publishSoon(t testing.TB, p *publish.Producer, b event.Batch) ([]event.Outcome, error) {
	t.Helper()
	outcomes, err := p.Publish(t.Context(), b, time.Now().Add(soon))
	require.Len(t, outcomes, len(b.Events))
	return outcomes, err
}

func requirePublished(t testing.TB, p *publish.Producer, b event.Batch) {
	t.Helper()
	outcomes, err := publishSoon(t, p, b)
	require.NoError(t, err)
	requireAll(t, event.Published, outcomes)
}

func requireAll(t testing.TB, kind event.OutcomeKind, outcomes []event.Outcome) {
	t.Helper()
	for i, o := range outcomes {
		require.Equal(t, kind, o.Kind, "outcome %d: %q", i, o.Reason)
	}
}

func count(outcomes []event.Outcome, kind event.OutcomeKind) int {
	n := 0
	for _, o := range outcomes {
		if o.Kind == kind {
			n++
		}
	}
	return n
}

func requireProblem(t testing.TB, code string, err error) {
	t.Helper()
	var problem *publish.Problem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, code, problem.Code, "%v", err)
}

// consume reads, with another client library, everything that the topic holds now.
func consume(t testing.TB, servers []string, topic string) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	require.NoError(t, err)
	defer client.Close()
	want := endOffsets(ctx, t, client, topic)
	var records []*kgo.Record
	for int64(len(records)) < want {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		records = append(records, fetches.Records()...)
	}
	return records
}

// ids are the event ids of the records, in order.
func ids(records []*kgo.Record) []string {
	all := make([]string, len(records))
	for i, r := range records {
		all[i] = header(r, publish.EventIDHeader)
	}
	return all
}

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

func eventIDs(b event.Batch) []string {
	all := make([]string, len(b.Events))
	for i, e := range b.Events {
		all[i] = e.ID
	}
	return all
}

func filler(n int) []byte { return []byte(strings.Repeat("x", n)) }
