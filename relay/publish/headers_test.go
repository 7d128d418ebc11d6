package publish_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// full is an event of which everything is known, and whose row has a header of
// every name that is ours beside its own.
func full() event.Event {
	created := time.Date(2026, 2, 3, 4, 5, 6, 7_999_999, time.FixedZone("", 3600))
	return event.Event{
		ID: "e1", Row: "42", Generation: 3, CreatedAt: created, ContentType: "application/json", Key: []byte("k"), Payload: []byte("{}"),
		Headers: []event.Header{
			{Key: "event-id", Value: []byte("forged")},
			{Key: "generation", Value: []byte("99")},
			{Key: "row-id", Value: []byte("1")},
			{Key: "created-at", Value: []byte("never")},
			{Key: "content-type", Value: []byte("text/plain")},
			{Key: "id", Value: []byte("7")},
			{Key: "traceparent", Value: []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")},
			{Key: "tracestate", Value: []byte("a=1,b=2")},
			{Key: "Event-ID", Value: nil},
			{Key: "", Value: []byte{}},
		},
	}
}

var traced = []kgo.RecordHeader{
	{Key: "traceparent", Value: []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")},
	{Key: "tracestate", Value: []byte("a=1,b=2")},
	{Key: "Event-ID", Value: nil},
	{Key: "", Value: []byte{}},
}

func TestHeaders(t *testing.T) {
	text := func(pairs ...string) (headers []kgo.RecordHeader) {
		for i := 0; i < len(pairs); i += 2 {
			headers = append(headers, kgo.RecordHeader{Key: pairs[i], Value: []byte(pairs[i+1])})
		}
		return headers
	}
	bare := event.Event{ID: "e2", Headers: full().Headers[3:5]}
	largest := event.Event{ID: "e3", Row: "r", Generation: math.MinInt64, CreatedAt: time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC)}
	for name, test := range map[string]struct {
		style publish.HeaderStyle
		event event.Event
		want  []kgo.RecordHeader
	}{
		"all of ours": {publish.Standard, full(), append(text("event-id", "e1", "generation", "3", "row-id", "42",
			"created-at", "2026-02-03T03:05:06.007Z", "content-type", "application/json", "id", "7"), traced...)},
		"what we do not know is the row's": {publish.Standard, bare, text("event-id", "e2", "created-at", "never", "content-type", "text/plain")},
		"the longest numbers":              {publish.Standard, largest, text("event-id", "e3", "generation", "-9223372036854775808", "row-id", "r", "created-at", "99999-01-01T00:00:00.000Z")},
		"Debezium's": {publish.Debezium, full(), append(text("id", "e1", "event-id", "forged", "generation", "99", "row-id", "1",
			"created-at", "never", "content-type", "text/plain"), traced...)},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, kfake.SeedTopics(1, "headers"))
			p := newProducer(t, cluster.ListenAddrs(), to("headers"), func(c *publish.Config) { c.Headers = test.style })
			requirePublished(t, p, event.Batch{Events: []event.Event{bare, test.event}})
			got := consume(t, cluster.ListenAddrs(), "headers")
			require.Equal(t, test.want, got[1].Headers)
		})
	}
}

// Times that share a second, and others, are each their own.
func TestCreatedAt(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(1, "times"))
	p := newProducer(t, cluster.ListenAddrs(), to("times"))
	first := time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	batch := event.Batch{}
	for i, later := range []time.Duration{0, 1, time.Millisecond, 10 * time.Millisecond, 999 * time.Millisecond, time.Second, 0, time.Hour, 24 * time.Hour} {
		batch.Events = append(batch.Events, event.Event{ID: strconv.Itoa(i), CreatedAt: first.Add(later).In(time.FixedZone("", 5400))})
	}
	requirePublished(t, p, batch)
	for i, r := range consume(t, cluster.ListenAddrs(), "times") {
		require.Equal(t, batch.Events[i].CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z"), header(r, publish.CreatedAtHeader))
	}
}
