package lab

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

const (
	kindPublisher = "publisher"
	topic         = "lab.events"
	// ownTopic is where the Debezium table's events say that they go.
	ownTopic = "outbox.event.order"
)

func topicOf(preset string) string {
	if preset == "Debezium" {
		return ownTopic
	}
	return topic
}

// publishing is a guarded worker that really sends what it claims.
type publishing struct {
	*guarded
	producer *publish.Producer
}

func newPublishing(w *guarded, servers string) (*publishing, error) {
	producer, err := publish.New(publish.Config{Servers: []string{servers}, Topic: topic})
	return &publishing{guarded: w, producer: producer}, err
}

// claim claims and sends, and returns when the broker has acknowledged.
func (w *publishing) claim(ctx context.Context) (string, error) {
	id, err := w.guarded.claim(ctx)
	if err != nil || id == "" {
		return id, err
	}
	outcomes, err := w.producer.Publish(ctx, w.batch, event.NewDeadline(time.Now().Add(time.Minute)))
	if err == nil && outcomes[0].Kind != event.Published {
		err = fmt.Errorf("the broker did not acknowledge: %+v", outcomes[0])
	}
	return id, err
}

// What the database cannot know: a publisher is killed after the broker's
// acknowledgment and before it has recorded SENT. The event is published again,
// under the same identity; that is the duplicate that nobody can rule out, and
// how a consumer recognises it.
func TestAKillBetweenAcknowledgmentAndSentIsADuplicateWithTheSameIdentity(t *testing.T) {
	cluster := kafka.StartForTest(t, kafka.Options{})
	for _, name := range []string{topic, ownTopic} {
		require.NoError(t, cluster.Admin().CreateTopic(t.Context(), admin.Topic{Name: name, Partitions: 1, Replicas: 1}))
	}
	t.Setenv("LAB_KAFKA", cluster.Addresses()[0])
	for preset := range presets {
		t.Run(preset, func(t *testing.T) {
			b := newBench(t, preset, kindPublisher, 30)
			id := b.insert(t, 1)[0]
			require.Equal(t, id, b.killed(t))
			require.Equal(t, "INPROGRESS", b.look(t, id).status, "acknowledged, and not recorded")

			b.expire(t, id)
			w, err := newGuarded(b.Open(t), b.Table, b.Mapping)
			require.NoError(t, err)
			next, err := newPublishing(w, cluster.Addresses()[0])
			require.NoError(t, err)
			defer next.producer.Close()
			got, err := next.claim(t.Context())
			require.NoError(t, err)
			require.Equal(t, id, got)
			accepted, err := next.sent(t.Context())
			require.NoError(t, err)
			require.True(t, accepted)
			require.Equal(t, "SENT", b.look(t, id).status)
			require.Len(t, appearances(t, cluster, topicOf(preset), id), 2)
		})
	}
}

// appearances are the offsets at which the topic has the event.
func appearances(t *testing.T, cluster *kafka.Cluster, topic, id string) (offsets []int64) {
	t.Helper()
	config := sarama.NewConfig()
	config.Version = sarama.V3_9_0_0
	client, err := sarama.NewClient(cluster.Addresses(), config)
	require.NoError(t, err)
	defer client.Close()
	end, err := client.GetOffset(topic, 0, sarama.OffsetNewest)
	require.NoError(t, err)
	consumer, err := sarama.NewConsumerFromClient(client)
	require.NoError(t, err)
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	require.NoError(t, err)
	defer partition.Close()
	for next := int64(0); next < end; {
		select {
		case record := <-partition.Messages():
			next = record.Offset + 1
			for _, h := range record.Headers {
				if string(h.Key) == publish.EventIDHeader && string(h.Value) == id {
					offsets = append(offsets, record.Offset)
				}
			}
		case <-time.After(time.Minute):
			require.Fail(t, "the topic could not be read to its end")
		}
	}
	return offsets
}

// childPublisher is the worker of a child process that is to be killed after the
// broker's acknowledgment.
func childPublisher(w *guarded) (worker, error) { return newPublishing(w, os.Getenv("LAB_KAFKA")) }
