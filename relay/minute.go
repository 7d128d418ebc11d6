package relay

import (
	"slices"
	"time"

	"github.com/relayfleet/relayfleet/relay/report"
)

// spanBounds are where the buckets of spans end, in milliseconds; what is longer
// has a bucket of its own.
var spanBounds = [...]int64{
	1, 2, 3, 4, 5, 7, 9, 12, 16, 21, 28, 37, 50, 66, 88, 117, 156, 208, 277, 370, 493, 657, 876,
	1168, 1557, 2076, 2768, 3691, 4921, 6561, 8748, 11664, 15552, 20736, 27648, 36864, 49152, 65536,
}

// spans are durations of one kind, in buckets.
type spans struct {
	buckets [len(spanBounds) + 1]int32
	count   int32
	max     int64
}

func span(took time.Duration) (s spans) {
	millis := int64((took + time.Millisecond - 1) / time.Millisecond)
	at, _ := slices.BinarySearch(spanBounds[:], millis)
	s.buckets[at], s.count, s.max = 1, 1, millis
	return s
}

func (s *spans) add(o *spans) {
	if o.count == 0 {
		return
	}
	for i := range s.buckets {
		s.buckets[i] += o.buckets[i]
	}
	s.count += o.count
	s.max = max(s.max, o.max)
}

// percentile is the end of the bucket in which it lies.
func (s *spans) percentile(p int64) int64 {
	rest := (int64(s.count)*p + 99) / 100
	for i, end := range spanBounds {
		if rest -= int64(s.buckets[i]); rest <= 0 {
			return min(end, s.max)
		}
	}
	return s.max
}

func (s *spans) latency() *report.Latency {
	if s.count == 0 {
		return nil
	}
	return &report.Latency{P50: s.percentile(50), P99: s.percentile(99), Max: s.max}
}

// counts is what happened in some span of time.
type counts struct {
	rates               report.Rates
	claim, send, settle spans
}

func (c *counts) add(o *counts) {
	c.rates = c.rates.Add(o.rates)
	c.claim.add(&o.claim)
	c.send.add(&o.send)
	c.settle.add(&o.settle)
}

// lastMinute adds counts up over the last 60 whole seconds and the current one.
type lastMinute struct {
	seconds [61]struct {
		second int64
		counts counts
	}
}

func (m *lastMinute) add(now time.Time, c *counts) {
	second := now.Unix()
	slot := &m.seconds[second%int64(len(m.seconds))]
	if slot.second != second {
		slot.second, slot.counts = second, counts{}
	}
	slot.counts.add(c)
}

func (m *lastMinute) sum(now time.Time) *counts {
	total := &counts{}
	for i := range m.seconds {
		slot := &m.seconds[i]
		if age := now.Unix() - slot.second; age >= 0 && age <= 60 {
			total.add(&slot.counts)
		}
	}
	return total
}
