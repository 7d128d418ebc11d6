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

func newCluster(tb testing.TB, options ...kfake.Opt) *kfake.Cluster {
	tb.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(4, fleetTopic)}, options...)...)
	require.NoError(tb, err)
	tb.Cleanup(c.Close)
	return c
}

func newProducer(tb testing.TB, servers []string, change ...func(*publish.Config)) *publish.Producer {
	tb.Helper()
	config := publish.Config{Servers: servers, Topic: fleetTopic, RequestTimeout: time.Second}
	for _, c := range change {
		c(&config)
	}
	p, err := publish.New(config)
	require.NoError(tb, err)
	tb.Cleanup(p.Close)
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

func publishSoon(tb testing.TB, p *publish.Producer, b event.Batch) ([]event.Outcome, error) {
	tb.Helper()
	outcomes, err := p.Publish(tb.Context(), b, event.NewDeadline(time.Now().Add(soon)))
	require.Len(tb, outcomes, len(b.Events))
	return outcomes, err
}

func requirePublished(tb testing.TB, p *publish.Producer, b event.Batch) {
	tb.Helper()
	outcomes, err := publishSoon(tb, p, b)
	require.NoError(tb, err)
	requireAll(tb, event.Published, outcomes)
}

func requireAll(tb testing.TB, kind event.OutcomeKind, outcomes []event.Outcome) {
	tb.Helper()
	for i, o := range outcomes {
		require.Equal(tb, kind, o.Kind, "outcome %d: %q", i, o.Reason)
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

func requireProblem(tb testing.TB, code string, err error) {
	tb.Helper()
	var problem *publish.Problem
	require.ErrorAs(tb, err, &problem)
	require.Equal(tb, code, problem.Code, "%v", err)
}

// consume reads, with another client library, everything that the topic holds now.
func consume(tb testing.TB, servers []string, topic string) []*kgo.Record {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	require.NoError(tb, err)
	defer client.Close()
	want := endOffsets(ctx, tb, client, topic)
	var records []*kgo.Record
	for int64(len(records)) < want {
		fetches := client.PollFetches(ctx)
		require.NoError(tb, fetches.Err())
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
