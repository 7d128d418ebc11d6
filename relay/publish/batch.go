package publish

import (
	"time"

	"github.com/IBM/sarama"

	"github.com/relayfleet/relayfleet/relay/event"
)

const (
	// batchOverhead and recordOverhead are upper bounds of what the format adds.
	batchOverhead  = 61
	recordOverhead = 36
	headerOverhead = 10
)

// chunk is a run of records of one partition that is sent as one record batch.
type chunk struct {
	// events are places in the delivery.
	events []int
	batch  *sarama.RecordBatch
	// size is an upper bound of the batch before compression.
	size int
	// by is the producer id under which it was sent first.
	by identity
	// maybe: a try of it may have been appended. From then on it keeps producer
	// id and sequence, by which the broker recognises it.
	maybe bool
}

// records builds the record of every event that is wanted.
func records(style HeaderStyle, events []event.Event, wanted func(int) bool) []*sarama.Record {
	headers := newHeaderSlab(style, events)
	slab := make([]sarama.Record, len(events))
	all := make([]*sarama.Record, len(events))
	for i := range events {
		if wanted(i) {
			e := &events[i]
			slab[i] = sarama.Record{Key: e.Key, Value: e.Payload, Headers: headers.of(e)}
			all[i] = &slab[i]
		}
	}
	return all
}

func recordSize(r *sarama.Record) int {
	size := recordOverhead + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		size += headerOverhead + len(h.Key) + len(h.Value)
	}
	return size
}

// cut makes chunks of at most limit bytes, and of no more than a round takes, of
// the events, keeping their order. A record that is too large by itself gets a
// chunk of its own: compressed it may still fit, and else the broker's refusal hits
// nobody else.
func (d *delivery) cut(events []int, limit int) []*chunk {
	limit = min(limit, roundBytes)
	var chunks []*chunk
	first, size := 0, batchOverhead
	for i, at := range events {
		record := recordSize(d.records[at])
		if i > first && size+record > limit {
			chunks = append(chunks, d.chunk(events[first:i], size))
			first, size = i, batchOverhead
		}
		size += record
	}
	return append(chunks, d.chunk(events[first:], size))
}

// chunk makes one chunk. Records are stamped with the time of sending: with the
// time of the row, a topic's retention would drop what is published late.
func (d *delivery) chunk(events []int, size int) *chunk {
	now := time.Now()
	if now.Unix() < 0 {
		now = time.Unix(0, 0) // A clock before 1970 cannot be encoded.
	}
	records := make([]*sarama.Record, len(events))
	for i, at := range events {
		records[i] = d.records[at]
		records[i].OffsetDelta = int64(i)
	}
	return &chunk{
		events: events, size: size,
		batch: &sarama.RecordBatch{
			Version: 2, PartitionLeaderEpoch: -1,
			Codec: d.codec, CompressionLevel: compressionLevel,
			FirstTimestamp: now, MaxTimestamp: now,
			LastOffsetDelta: int32(len(events) - 1), //nolint:gosec // A batch has far fewer events.
			Records:         records,
		},
	}
}

// compressionLevel is zstd's fastest, which also needs the least memory; LZ4 has
// no levels.
const compressionLevel = 1

// rechunk makes a new chunk of some events of an old one.
func (d *delivery) rechunk(events []int) *chunk {
	size := batchOverhead
	for _, at := range events {
		size += recordSize(d.records[at])
	}
	return d.chunk(events, size)
}
