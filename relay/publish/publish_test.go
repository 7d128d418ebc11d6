package publish_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

func TestPublishAndReadBack(t *testing.T) {
	for _, compression := range []publish.Compression{publish.LZ4, publish.Zstd, publish.None} {
		t.Run(string(compression), func(t *testing.T) {
			cluster := newCluster(t)
			p := newProducer(t, cluster.ListenAddrs(), func(c *publish.Config) { c.Compression = compression })
			before := time.Now().Add(-time.Second)
			batch := numbered(500)
			requirePublished(t, p, batch)
			requirePublished(t, p, event.Batch{})
			got := consume(t, cluster.ListenAddrs(), fleetTopic)
			require.ElementsMatch(t, eventIDs(batch), ids(got))
			for _, r := range got {
				require.Equal(t, "key-"+header(r, publish.EventIDHeader), string(r.Key))
				require.WithinRange(t, r.Timestamp, before, time.Now().Add(time.Second))
			}
		})
	}
}

// The hashes are those that Kafka's own tests of its Java client state.
func TestPartitionsAreJavas(t *testing.T) {
	const partitions = 12
	cluster := newCluster(t, kfake.SeedTopics(partitions, "wide"))
	p := newProducer(t, cluster.ListenAddrs(), func(c *publish.Config) { c.Topic = "wide" })
	batch, want := event.Batch{}, map[string]int32{}
	for key, hash := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		batch.Events = append(batch.Events, event.Event{ID: key, Key: []byte(key)})
		want[key] = (hash & 0x7fffffff) % partitions
	}
	requirePublished(t, p, batch)
	for _, r := range consume(t, cluster.ListenAddrs(), "wide") {
		require.Equal(t, want[string(r.Key)], r.Partition, "key %s", r.Key)
	}
}

func TestRecordsArriveAsTheyAre(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(1, "single"))
	p := newProducer(t, cluster.ListenAddrs(), func(c *publish.Config) { c.Topic = "single" })
	headers := []event.Header{{Key: "a", Value: []byte("1")}, {Key: "b"}, {Key: "a", Value: []byte{}}, {Value: []byte("no name")}}
	batch := event.Batch{Events: []event.Event{
		{ID: "tombstone", Key: []byte("k")},
		{ID: "empty", Key: []byte{}, Payload: []byte{}},
		{ID: "keyless", Payload: []byte("p"), Headers: headers},
		{},
	}}
	requirePublished(t, p, batch)
	got := consume(t, cluster.ListenAddrs(), "single")
	require.Equal(t, []string{"tombstone", "empty", "keyless", ""}, ids(got))
	require.Nil(t, got[0].Value)
	require.Equal(t, "k", string(got[0].Key))
	require.Equal(t, []byte{}, got[1].Value)
	require.Equal(t, []byte{}, got[1].Key)
	require.Nil(t, got[2].Key)
	require.Nil(t, got[3].Value)
	require.Len(t, got[2].Headers, 1+len(headers))
	for i, h := range headers {
		require.Equal(t, h.Key, got[2].Headers[i+1].Key)
		require.Equal(t, h.Value, got[2].Headers[i+1].Value)
	}
}

func TestInvalidEventsAreNotSent(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	batch := numbered(10)
	batch.Events[3].Invalid = "the headers are not an object of strings"
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.Equal(t, event.Outcome{Kind: event.Rejected, Reason: batch.Events[3].Invalid}, outcomes[3])
	require.Equal(t, 9, count(outcomes, event.Published))
	require.Len(t, consume(t, cluster.ListenAddrs(), fleetTopic), 9)

	// Nothing to send needs no broker.
	alone := newProducer(t, []string{"127.0.0.1:1"})
	outcomes, err = publishSoon(t, alone, event.Batch{Events: batch.Events[3:4]})
	require.NoError(t, err)
	require.Equal(t, event.Rejected, outcomes[0].Kind)
}

// Payloads of a mebibyte each, one of them as large as fits, go in batches that
// stay below the topic's limit.
func TestLargePayloads(t *testing.T) {
	cluster := newCluster(t, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "1048588"}))
	p := newProducer(t, cluster.ListenAddrs(), uncompressed)
	batch := numbered(40)
	for i := range batch.Events {
		batch.Events[i].Payload = filler(1<<20 - 200)
	}
	requirePublished(t, p, batch)
	require.Len(t, consume(t, cluster.ListenAddrs(), fleetTopic), 40)
}

// A slot sends a few mebibytes at a time, however much its batch holds and a topic
// allows, and a larger record alone.
func TestRoundsAreBounded(t *testing.T) {
	const most = 4 << 20
	cluster := newCluster(t, kfake.NumBrokers(3), kfake.SeedTopics(12, "wide"), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "16777216"}))
	p := newProducer(t, cluster.ListenAddrs(), to("wide"), uncompressed)
	var mu sync.Mutex
	sizes := map[int]int{} // how many requests there were, by their size
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		size := 0
		for _, topic := range r.(*kmsg.ProduceRequest).Topics {
			for _, partition := range topic.Partitions {
				size += len(partition.Records)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		sizes[size]++
		return nil, nil, false
	})
	batch := numbered(100)
	for i := range batch.Events {
		batch.Events[i].Payload = filler(300 << 10)
	}
	batch.Events[50].Payload = filler(6 << 20)
	requirePublished(t, p, batch)
	larger := 0
	for size := range sizes {
		if size > most {
			larger++
			require.InDelta(t, 6<<20, size, 200)
		}
	}
	require.Equal(t, 1, larger)
	require.Len(t, consume(t, cluster.ListenAddrs(), "wide"), 100)
}

// What is too large only before compression is still published.
func TestCompressibleOversize(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	batch := numbered(2)
	batch.Events[0].Payload = filler(3 << 20)
	requirePublished(t, p, batch)

	batch.Events[0].Payload = noise(3 << 20)
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.Equal(t, event.Rejected, outcomes[0].Kind)
	require.Equal(t, event.Published, outcomes[1].Kind)
}

// A record that fits into no request is refused here: a broker would only close
// the connection.
func TestBeyondEveryRequest(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs(), uncompressed)
	batch := numbered(2)
	batch.Events[1].Payload = make([]byte, 101<<20)
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.Equal(t, event.Published, outcomes[0].Kind)
	require.Equal(t, event.Rejected, outcomes[1].Kind)
}

// Events without a key use all partitions, in few batches.
func TestKeylessEventsSpread(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	batch := numbered(500)
	for i := range batch.Events {
		batch.Events[i].Key, batch.Events[i].Payload = nil, filler(1000)
	}
	requirePublished(t, p, batch)
	used := map[int32]int{}
	for _, r := range consume(t, cluster.ListenAddrs(), fleetTopic) {
		used[r.Partition]++
	}
	require.Len(t, used, 4)
}

// One record over the limit among a thousand costs little more than the others do,
// also where the broker does not tell the limit.
func TestOversizeCostsFewRequests(t *testing.T) {
	for _, compression := range []publish.Compression{publish.LZ4, publish.Zstd, publish.None} {
		for size, most := range map[int]int{150_000: 20, 600_000: 5} { // Less and more than all others together.
			t.Run(fmt.Sprint(compression, "/", size), func(t *testing.T) {
				cluster := newCluster(t, kfake.SeedTopics(1, "narrow"), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "100000"}))
				p := newProducer(t, cluster.ListenAddrs(), to("narrow"), func(c *publish.Config) { c.Compression = compression })
				produced := cluster.Fault(kfake.Fault{Keys: produceRequests, Observe: true, Count: -1})
				batch := numbered(1000)
				for i := range batch.Events {
					batch.Events[i].Payload = filler(200)
				}
				batch.Events[437].Payload = noise(size)
				outcomes, err := publishSoon(t, p, batch)
				require.NoError(t, err)
				require.Equal(t, event.Rejected, outcomes[437].Kind)
				require.Equal(t, 999, count(outcomes, event.Published))
				t.Logf("%d requests", produced.Hits())
				if compression != publish.None { // Without compression the others do not fit either.
					require.LessOrEqual(t, produced.Hits(), most)
				}
				require.Len(t, consume(t, cluster.ListenAddrs(), "narrow"), 999)
			})
		}
	}
}
