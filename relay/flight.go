package relay

import (
	"context"
	"sync"

	"github.com/relayfleet/relayfleet/relay/event"
)

// flight knows what this relay holds: the batches that are claimed and not yet
// settled, and the payloads of those that are not yet sent.
type flight struct {
	// told is called with every change.
	told func(events int, bytes int64)

	mu              sync.Mutex
	batches, events int
	bytes           int64
	// empty is closed, and forgotten, when no batch is left.
	empty chan struct{}
}

func (f *flight) begin(b event.Batch) { f.add(1, len(b.Events), payloadBytes(b)) }

// forget lets the memory of what is sent go: to record an outcome it is not
// needed. What it frees may be claimed anew.
func (f *flight) forget(b event.Batch) {
	bytes := payloadBytes(b)
	for i := range b.Events {
		b.Events[i].Payload, b.Events[i].Headers = nil, nil
	}
	f.add(0, 0, -bytes)
}

func (f *flight) end(b event.Batch) { f.add(-1, -len(b.Events), -payloadBytes(b)) }

func (f *flight) add(batches, events int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches += batches
	f.events += events
	f.bytes += bytes
	f.told(f.events, f.bytes)
	if f.batches == 0 && f.empty != nil {
		close(f.empty)
		f.empty = nil
	}
}

// landed returns nil when no batch is in flight, and an error when ctx has ended.
func (f *flight) landed(ctx context.Context) error {
	for ctx.Err() == nil {
		empty := f.waiting()
		if empty == nil {
			return nil
		}
		select {
		case <-empty:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// waiting is nil when no batch is in flight, and else closed when the last ends.
func (f *flight) waiting() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.batches > 0 && f.empty == nil {
		f.empty = make(chan struct{})
	}
	return f.empty
}

func payloadBytes(b event.Batch) (sum int64) {
	for i := range b.Events {
		sum += int64(len(b.Events[i].Payload))
	}
	return sum
}
