package kafka_test

import (
	"os"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
)

func TestABrokerTakesRecordsAndKeepsThemOverAKill(t *testing.T) {
	c := kafka.StartForTest(t, kafka.Options{})
	require.NoError(t, c.Admin().CreateTopic(t.Context(), admin.Topic{Name: "orders", Partitions: 3, Replicas: 1}))
	produce(t, c, "orders", "first")
	require.NoError(t, c.KillBroker(t.Context(), 0))
	require.False(t, c.Running())
	require.NoError(t, c.StartBroker(t.Context(), 0))
	produce(t, c, "orders", "second")
	require.Equal(t, []string{"first", "second"}, consume(t, c, "orders", 2))
}

func TestNothingStays(t *testing.T) {
	c := kafka.StartForTest(t, kafka.Options{})
	process := c.Process(0)
	require.True(t, process.Alive())
	require.NoError(t, c.Remove(t.Context()))
	require.False(t, process.Alive())
	require.NoDirExists(t, c.Dir())
}

func TestThreeBrokersReplicate(t *testing.T) {
	if os.Getenv("SLOW") == "" {
		t.Skip("takes three JVMs; SLOW=1 runs it")
	}
	c := kafka.StartForTest(t, kafka.Options{Count: 3})
	require.NoError(t, c.Admin().CreateTopic(t.Context(), admin.Topic{
		Name: "orders", Partitions: 1, Replicas: 3,
		Config: map[string]string{"min.insync.replicas": "3"},
	}))
	produce(t, c, "orders", "first")
	partitions, err := c.Admin().DescribeTopic("orders")
	require.NoError(t, err)
	require.Len(t, partitions[0].InSync, 3)
	dead := partitions[0].Leader
	require.NoError(t, c.KillBroker(t.Context(), int(dead)-1))
	// The others notice only when the session of the dead one has run out, longer than a producer tries.
	requirePartition(t, c, func(p admin.Partition) bool { return p.Leader > 0 && p.Leader != dead && len(p.InSync) == 2 })
	config := c.Admin().Config()
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Retry.Max = 0
	producer, err := sarama.NewSyncProducer(c.Addresses(), config)
	require.NoError(t, err)
	_, _, err = producer.SendMessage(&sarama.ProducerMessage{Topic: "orders", Value: sarama.StringEncoder("refused")})
	require.ErrorIs(t, err, sarama.ErrNotEnoughReplicas)
	require.NoError(t, producer.Close())
	require.NoError(t, c.Admin().ConfigureTopic("orders", map[string]string{"min.insync.replicas": "2"}))
	produce(t, c, "orders", "second")

	require.NoError(t, c.StartBroker(t.Context(), int(dead)-1))
	requirePartition(t, c, func(p admin.Partition) bool { return len(p.InSync) == 3 })
	produce(t, c, "orders", "third")
	require.Equal(t, []string{"first", "second", "third"}, consume(t, c, "orders", 3))
}

func requirePartition(t *testing.T, c *kafka.Cluster, as func(admin.Partition) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		partitions, err := c.Admin().DescribeTopic("orders")
		return err == nil && len(partitions) == 1 && as(partitions[0])
	}, 3*time.Minute, 100*time.Millisecond)
}

func produce(t *testing.T, c *kafka.Cluster, topic, value string) {
	t.Helper()
	config := c.Admin().Config()
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Metadata.Retry.Max = 20
	config.Producer.Retry.Max = 20
	producer, err := sarama.NewSyncProducer(c.Addresses(), config)
	require.NoError(t, err)
	defer producer.Close()
	_, _, err = producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
	require.NoError(t, err)
}

func consume(t *testing.T, c *kafka.Cluster, topic string, count int) (values []string) {
	t.Helper()
	config := c.Admin().Config()
	config.Metadata.Retry.Max = 20
	consumer, err := sarama.NewConsumer(c.Addresses(), config)
	require.NoError(t, err)
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	require.NoError(t, err)
	defer partition.Close()
	for len(values) < count {
		select {
		case message := <-partition.Messages():
			values = append(values, string(message.Value))
		case <-t.Context().Done():
			t.Fatalf("only %v arrived", values)
		}
	}
	return values
}
