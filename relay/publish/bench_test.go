package publish_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// BenchmarkPublish sends batches of 500 events of 512 bytes with 10,000 keys.
// BENCH_SERVER names a broker with a topic "bench" of 12 partitions; without it
// the embedded broker answers, which says nothing of Kafka's speed.
func BenchmarkPublish(b *testing.B) {
	server := os.Getenv("BENCH_SERVER")
	for _, slots := range []int{1, 2, 4} {
		for _, compression := range []publish.Compression{publish.LZ4, publish.Zstd, publish.None} {
			b.Run(fmt.Sprintf("slots=%d/%s", slots, compression), func(b *testing.B) {
				benchmarkPublish(b, server, slots, compression)
			})
		}
	}
}

func benchmarkPublish(b *testing.B, server string, slots int, compression publish.Compression) {
	b.Helper()
	const size = 500
	servers, topic := []string{server}, "bench"
	if server == "" {
		servers, topic = newCluster(b).ListenAddrs(), fleetTopic
	}
	batches := make([]event.Batch, 16)
	for i := range batches {
		batches[i] = randomBatch(size)
	}
	producers := make(chan *publish.Producer, slots)
	for range slots {
		p := newProducer(b, servers, func(c *publish.Config) { c.Topic, c.Compression = topic, compression })
		require.NoError(b, p.Probe(b.Context()))
		producers <- p
	}
	var next atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(slots)
	b.ResetTimer()
	begin, used := time.Now(), processorTime(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p := <-producers
			outcomes, err := p.Publish(context.Background(), batches[next.Add(1)%16], event.NewDeadline(time.Now().Add(soon)))
			producers <- p
			if err != nil || outcomes[0].Kind != event.Published {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N*size)/time.Since(begin).Seconds(), "events/s")
	b.ReportMetric(float64((processorTime(b)-used).Nanoseconds())/float64(b.N*size), "cpu-ns/event")
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// randomBatch has payloads that compress as JSON does, to a third or so.
func randomBatch(n int) event.Batch {
	batch := event.Batch{Events: make([]event.Event, n)}
	for i := range batch.Events {
		payload := fmt.Appendf(nil, `{"order":%d,"customer":"%x","lines":[`, rand.Int(), rand.Int())
		for len(payload) < 500 {
			payload = fmt.Appendf(payload, `{"sku":%d,"quantity":%d},`, rand.IntN(1e6), rand.IntN(10))
		}
		batch.Events[i] = event.Event{
			ID: fmt.Sprintf("%016x", rand.Int64()), Row: strconv.Itoa(1_000_000 + i), Generation: 1, CreatedAt: time.Now(),
			Key: fmt.Appendf(nil, "key-%d", rand.IntN(10000)), Payload: payload[:min(len(payload), 512)],
		}
	}
	return batch
}
