package publish_test

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// What a real broker does; the parts share one, and each has topics of its own.
func TestRealKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real broker")
	}
	cluster := kafka.StartForTest(t, kafka.Options{})
	for _, part := range []struct {
		name string
		run  func(*testing.T, *kafka.Cluster)
	}{
		{"records arrive as they are", realRecords},
		{"topic appears", realTopicAppears},
		{"oversize", realOversize},
		{"filled to the brim", realBrim},
		{"record named by the broker", realNamedRecord},
		{"added partitions", realAddedPartitions},
		{"sends repeated among more partitions", realRepeatedSends},
		{"memory", realMemory},
		{"frozen broker", realFrozenBroker},
		{"killed broker", realKilledBroker},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, cluster) })
	}
}

func createTopic(t *testing.T, c *kafka.Cluster, topic admin.Topic) {
	t.Helper()
	topic.Replicas = max(topic.Replicas, 1)
	require.NoError(t, c.Admin().CreateTopic(t.Context(), topic))
}

func to(topic string) func(*publish.Config) {
	return func(c *publish.Config) { c.Topic = topic }
}

func realRecords(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	for _, compression := range []publish.Compression{publish.LZ4, publish.Zstd, publish.None} {
		topic := "records." + string(compression)
		createTopic(t, c, admin.Topic{Name: topic, Partitions: 12})
		p := newProducer(t, c.Addresses(), to(topic), func(c *publish.Config) { c.Compression = compression })
		require.NoError(t, p.Probe(t.Context()))
		batch := numbered(500)
		batch.Events[0].Key = []byte("foobar")
		batch.Events[1].Payload = nil
		batch.Events[2].Payload = []byte{}
		batch.Events[3].Headers = []event.Header{{Key: "h", Value: []byte("v")}}
		requirePublished(t, p, batch)
		got := consume(t, c.Addresses(), topic)
		require.ElementsMatch(t, eventIDs(batch), ids(got))
		for _, r := range got {
			switch header(r, publish.EventIDHeader) {
			case batch.Events[0].ID:
				require.EqualValues(t, (-790332482&0x7fffffff)%12, r.Partition)
			case batch.Events[1].ID:
				require.Nil(t, r.Value)
			case batch.Events[2].ID:
				require.Equal(t, []byte{}, r.Value)
			case batch.Events[3].ID:
				require.Equal(t, "v", header(r, "h"))
			}
		}
	}
}

func realTopicAppears(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	p := newProducer(t, c.Addresses(), to("appears"))
	requireProblem(t, publish.TopicMissing, p.Probe(t.Context()))
	outcomes, err := publishSoon(t, p, numbered(10))
	requireProblem(t, publish.TopicMissing, err)
	requireAll(t, event.Unsent, outcomes)
	createTopic(t, c, admin.Topic{Name: "appears", Partitions: 3})
	require.NoError(t, p.Probe(t.Context()))
	requirePublished(t, p, numbered(10))
	require.Len(t, consume(t, c.Addresses(), "appears"), 10)
}

func realOversize(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	createTopic(t, c, admin.Topic{Name: "narrow", Partitions: 2, Config: map[string]string{"max.message.bytes": "3000"}})
	p := newProducer(t, c.Addresses(), to("narrow"), uncompressed)
	batch := numbered(100)
	batch.Events[40].Payload = filler(4000)
	for range 2 {
		outcomes, err := publishSoon(t, p, batch)
		require.NoError(t, err)
		require.Equal(t, event.Rejected, outcomes[40].Kind)
		require.Equal(t, 99, count(outcomes, event.Published))
		// The second time the limit is another than the producer believes.
		require.NoError(t, c.Admin().ConfigureTopic("narrow", map[string]string{"max.message.bytes": "1000"}))
	}
	require.Len(t, consume(t, c.Addresses(), "narrow"), 2*99)
}

// What fits into a topic with no byte to spare is published, whatever compression
// makes of it, and what is one byte larger is not; neither harms the others.
func realBrim(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	const limit, value = 100_000, 99_800
	createTopic(t, c, admin.Topic{Name: "brim", Partitions: 1, Config: map[string]string{"max.message.bytes": strconv.Itoa(limit)}})
	plain := newProducer(t, c.Addresses(), to("brim"), uncompressed)
	fits := sort.Search(limit, func(n int) bool { return !publishes(t, plain, value+n) }) - 1
	require.Positive(t, fits)
	for _, compression := range []publish.Compression{publish.LZ4, publish.Zstd} {
		p := newProducer(t, c.Addresses(), to("brim"), func(c *publish.Config) { c.Compression = compression })
		require.True(t, publishes(t, p, value+fits), compression)
		require.False(t, publishes(t, p, value+fits+1), compression)
	}
}

// publishes tells whether a value of so many bytes, among a thousand small ones, is
// published.
func publishes(t *testing.T, p *publish.Producer, size int) bool {
	t.Helper()
	batch := numbered(1000)
	batch.Events[500].Payload = noise(size)
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.GreaterOrEqual(t, count(outcomes, event.Published), 999)
	return outcomes[500].Kind == event.Published
}

// A compacted topic takes no record without a key, and Kafka names those that it
// refuses a batch for.
func realNamedRecord(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	createTopic(t, c, admin.Topic{Name: "compacted", Partitions: 1, Config: map[string]string{"cleanup.policy": "compact"}})
	p := newProducer(t, c.Addresses(), to("compacted"))
	batch := numbered(100)
	batch.Events[17].Key, batch.Events[71].Key = nil, nil
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.Equal(t, event.Rejected, outcomes[17].Kind)
	require.Equal(t, event.Rejected, outcomes[71].Kind)
	require.Equal(t, 98, count(outcomes, event.Published))
	require.Len(t, consume(t, c.Addresses(), "compacted"), 98)
}

// The broker stands still beyond the deadline, and goes on.
func realFrozenBroker(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	createTopic(t, c, admin.Topic{Name: "frozen", Partitions: 3})
	p := newProducer(t, c.Addresses(), to("frozen"))
	requirePublished(t, p, event.Batch{Events: numbered(1).Events})
	require.NoError(t, c.PauseBroker(0))
	var outcomes []event.Outcome
	var err error
	for range 3 {
		deadline := time.Now().Add(300 * time.Millisecond)
		outcomes, err = p.Publish(t.Context(), numbered(100), event.NewDeadline(deadline))
		require.WithinDuration(t, deadline, time.Now(), 2*time.Second)
		requireProblem(t, publish.Unreachable, err)
		require.Zero(t, count(outcomes, event.Published))
	}
	requireAll(t, event.Unsent, outcomes) // By now there is no connection to hand anything over to.
	require.NoError(t, c.ResumeBroker(0))
	requireUsable(t, p)
	requirePublished(t, p, numbered(100))
	// The first batch may be there twice, the other two must not.
	require.LessOrEqual(t, len(consume(t, c.Addresses(), "frozen")), 1+100+100)
}

// requireUsable probes until the broker has found itself again.
func requireUsable(t *testing.T, p *publish.Producer) {
	t.Helper()
	require.Eventually(t, func() bool { return p.Probe(t.Context()) == nil }, 2*soon, 20*time.Millisecond)
}

// The broker is killed and comes back, while batches are sent one after another:
// what is called published is there, and nothing has to be done by hand.
func realKilledBroker(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	createTopic(t, c, admin.Topic{Name: "killed", Partitions: 6})
	p := newProducer(t, c.Addresses(), to("killed"))
	started := make(chan error, 1)
	var published, uncertain []string
	send := func(n int) (problem error) {
		batch := event.Batch{}
		for i := range 50 {
			id := fmt.Sprintf("%d-%d", n, i)
			batch.Events = append(batch.Events, event.Event{ID: id, Key: []byte(id), Payload: filler(200)})
		}
		outcomes, err := publishSoon(t, p, batch)
		for i, o := range outcomes {
			switch o.Kind {
			case event.Published:
				published = append(published, batch.Events[i].ID)
			case event.Unknown:
				uncertain = append(uncertain, batch.Events[i].ID)
			default:
				require.Equal(t, event.Unsent, o.Kind)
			}
		}
		return err
	}
	require.NoError(t, send(0))
	require.NoError(t, c.KillBroker(t.Context(), 0))
	requireProblem(t, publish.Unreachable, send(1))
	requireProblem(t, publish.Unreachable, send(2))
	go func() { started <- c.StartBroker(context.WithoutCancel(t.Context()), 0) }()
	requireUsable(t, p)
	require.NoError(t, send(3))
	require.NoError(t, <-started)

	got := ids(consume(t, c.Addresses(), "killed"))
	require.Subset(t, got, published)
	require.Subset(t, append(published, uncertain...), got)
}
