package publish_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// How many partitions the topics here have at first and later.
const few, many = 3, 7

// What one producer of a relay learns of added partitions, the others use from
// their next batch on.
func realAddedPartitions(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	createTopic(t, c, admin.Topic{Name: "grows", Partitions: few})
	told := make(chan int, 10)
	known := publish.NewPartitions(func(now, _ int) { told <- now })
	ordered := func(c *publish.Config) { c.Ordered, c.Partitions = true, known }
	first := newProducer(t, c.Addresses(), to("grows"), ordered)
	second := newProducer(t, c.Addresses(), to("grows"), ordered)
	batch := numbered(200)
	requirePublished(t, first, batch)
	requirePublished(t, second, batch)
	require.Equal(t, few, <-told)
	require.Equal(t, 2*len(batch.Events), countPlaced(t, consume(t, c.Addresses(), "grows"), few))

	require.NoError(t, c.Admin().AddPartitions(t.Context(), "grows", many))
	require.NoError(t, first.Probe(t.Context()))
	require.Equal(t, many, <-told)
	requirePublished(t, second, batch)
	requirePublished(t, first, batch)
	records := consume(t, c.Addresses(), "grows")
	for _, partitions := range []int{few, many} {
		require.Equal(t, 2*len(batch.Events)+2*countUnmoved(batch), countPlaced(t, records, partitions))
	}
	require.Empty(t, told)
}

// A batch ends on the partitions that were chosen for it, also when its sends are
// repeated after the producer has learned that there are more; the next batch of
// the same keys counts them. What refuses the sends is that the topic is away for a
// moment.
func realRepeatedSends(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	for attempt := range 5 {
		if repeatedSends(t, c, fmt.Sprint("comes-back-", attempt)) {
			return
		}
	}
	require.Fail(t, "the topic was back before the first send, each time")
}

// repeatedSends returns whether the sends of the batch were repeated.
func repeatedSends(t *testing.T, c *kafka.Cluster, topic string) bool {
	t.Helper()
	createTopic(t, c, admin.Topic{Name: topic, Partitions: few})
	told := make(chan int, 10)
	p := newProducer(t, c.Addresses(), to(topic), func(c *publish.Config) {
		c.Ordered, c.RetryFor = true, soon
		c.Partitions = publish.NewPartitions(func(now, _ int) { told <- now })
	})
	require.NoError(t, p.Probe(t.Context()))
	require.Equal(t, few, <-told)
	require.NoError(t, c.Admin().DeleteTopic(t.Context(), topic))
	batch := numbered(200)
	ended := make(chan error, 1)
	go func() {
		outcomes, err := p.Publish(t.Context(), batch, event.NewDeadline(time.Now().Add(soon)))
		if err == nil && count(outcomes, event.Published) < len(outcomes) {
			err = fmt.Errorf("only %d are published", count(outcomes, event.Published))
		}
		ended <- err
	}()
	createTopic(t, c, admin.Topic{Name: topic, Partitions: many})
	require.NoError(t, <-ended)
	if len(told) == 0 {
		return false
	}
	require.Equal(t, many, <-told)
	require.Equal(t, len(batch.Events), countPlaced(t, consume(t, c.Addresses(), topic), few), "where it began")
	requirePublished(t, p, batch)
	require.Equal(t, len(batch.Events)+countUnmoved(batch), countPlaced(t, consume(t, c.Addresses(), topic), many))
	return true
}

// countPlaced counts the records that are where their key belongs among so many
// partitions.
func countPlaced(t *testing.T, records []*kgo.Record, partitions int) (n int) {
	t.Helper()
	for _, r := range records {
		if r.Partition == partitionOf(r.Key, partitions) {
			n++
		}
	}
	return n
}

// countUnmoved counts the events whose key stays where it was.
func countUnmoved(b event.Batch) (n int) {
	for _, e := range b.Events {
		if partitionOf(e.Key, few) == partitionOf(e.Key, many) {
			n++
		}
	}
	return n
}

// partitionOf is where Java's producer would send a key, by another library.
func partitionOf(key []byte, partitions int) int32 {
	chosen := kgo.StickyKeyPartitioner(nil).ForTopic("").Partition(&kgo.Record{Key: key}, partitions)
	return int32(chosen)
}
