package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInvalidSettingsEndTheRelayAndNameEveryProblem(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.settings.BatchSize = 20000
	f.settings.Topic = "orders events"
	f.settings.Kafka.BootstrapServers = []string{"kafka"}
	r := f.start()
	require.Equal(t, 1, r.awaitExit())
	for _, problem := range []string{"batchSize:", "topic:", "kafka.bootstrapServers[0]:"} {
		require.Contains(t, r.text(), problem)
	}
}
