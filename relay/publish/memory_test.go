package publish_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// Three slots send 210 payloads of a mebibyte that cannot be compressed, of which
// a relay's default budget of 32 MiB is in flight: all that is in use stays below
// two and a half times the budget, or three times where zstd keeps its tables.
func realMemory(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	const slots, rows, rounds, budget = 3, 10, 7, 32 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(2 * budget))
	createTopic(t, c, admin.Topic{Name: "memory", Partitions: 48})
	for compression, most := range map[publish.Compression]int64{
		publish.None: budget * 5 / 2, publish.LZ4: budget * 5 / 2, publish.Zstd: budget * 3,
	} {
		var slot sync.WaitGroup
		for n := range slots {
			p := newProducer(t, c.Addresses(), to("memory"), func(c *publish.Config) { c.Compression = compression })
			batch := event.Batch{Events: make([]event.Event, rows)}
			for i := range batch.Events {
				id := fmt.Sprint(n, "-", i)
				batch.Events[i] = event.Event{ID: id, Row: id, Key: []byte(id), Payload: noise(1<<20 - 1000)}
			}
			slot.Go(func() {
				for range rounds {
					outcomes, err := p.Publish(context.Background(), batch, event.NewDeadline(time.Now().Add(2*soon)))
					if err != nil || count(outcomes, event.Published) != rows {
						t.Error("publish: ", err)
					}
				}
			})
		}
		peak, end := watchMemory()
		slot.Wait()
		end()
		t.Logf("%s: %d MiB at most", compression, peak.Load()>>20)
		require.Less(t, peak.Load(), most)
	}
}

// watchMemory notes the most heap that is in use at one time.
func watchMemory() (peak *atomic.Int64, end func()) {
	peak = &atomic.Int64{}
	stop := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), int64(m.HeapInuse)))
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	return peak, func() { close(stop); watcher.Wait() }
}

// noise cannot be compressed.
func noise(n int) []byte {
	bytes := make([]byte, n)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(bytes)
	return bytes
}
