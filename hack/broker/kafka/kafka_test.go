package kafka_test

import (
	"os"
	"testing"

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
	require.NoError(t, c.Admin().CreateTopic(t.Context(), admin.Topic{Name: "orders", Partitions: 1, Replicas: 3}))
	produce(t, c, "orders", "first")
	partitions, err := c.Admin().DescribeTopic("orders")
	require.NoError(t, err)
	require.NoError(t, c.KillBroker(t.Context(), int(partitions[0].Leader)-1))
	produce(t, c, "orders", "second")
	require.Equal(t, []string{"first", "second"}, consume(t, c, "orders", 2))
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
