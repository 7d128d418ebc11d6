package kafka_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/service"
)

// namespace makes a network namespace that has the address of the cluster's node and is reached from nowhere else.
func namespace(t *testing.T) (name string, ip func(args ...string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	name = service.TemporaryName()
	ip = func(args ...string) { t.Helper(); require.NoError(t, exec.Command("ip", args...).Run(), args) }
	ip("netns", "add", name)
	t.Cleanup(func() { ip("netns", "delete", name) })
	ip("-n", name, "link", "set", "lo", "up")
	ip("-n", name, "address", "add", service.NodeAddress+"/30", "dev", "lo")
	return name, ip
}

func TestEachListenerInANamespaceAdvertisesItself(t *testing.T) {
	netns, ip := namespace(t)
	c := kafka.StartForTest(t, kafka.Options{Netns: netns})
	require.Equal(t, []string{"10.250.0.2:9092"}, c.Addresses())

	// The pods' gateway appears after the broker was started, as in a cluster without a pod.
	ip("-n", netns, "address", "add", service.PodAddress+"/24", "dev", "lo")
	for _, addresses := range [][]string{c.Addresses(), c.PodAddresses()} {
		client, err := sarama.NewClient(addresses, c.Admin().Config())
		require.NoError(t, err)
		require.Equal(t, addresses[0], client.Brokers()[0].Addr())
		require.NoError(t, client.Close())
	}
}
