//go:build verify

package integration

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/relay/settings"
)

// Leaders of three brokers are killed, and frozen, under load: the relay waits
// for new ones or pauses, but blames no event.
func TestLeadersThatDieOrFreezeFailNothing(t *testing.T) {
	cluster := kafka.StartForTest(t, kafka.Options{Count: 3})
	f := newFleet(t)
	require.NoError(t, cluster.Admin().CreateTopic(t.Context(), admin.Topic{Name: f.name, Partitions: 12, Replicas: 3}))
	f.settings.Kafka.BootstrapServers = cluster.Addresses()
	f.settings.Retry = settings.Retry{MaxAttempts: 3, MaxAgeSeconds: new(0)}
	r := f.start()
	r.awaitRunning()
	stop := f.produceSteadily(500)
	awaitProgress := func() {
		before := f.count("status = 'SENT'")
		require.Eventually(t, func() bool { return f.count("status = 'SENT'") > before+3000 }, soon, often)
	}
	awaitProgress()
	for victim := range 3 {
		require.NoError(t, cluster.KillBroker(t.Context(), victim))
		awaitProgress()
		require.NoError(t, cluster.StartBroker(t.Context(), victim))
		awaitProgress()
		require.NoError(t, cluster.PauseBroker(victim))
		awaitProgress()
		require.NoError(t, cluster.ResumeBroker(victim))
		awaitProgress()
	}
	stop()
	require.Eventually(t, func() bool { return f.count("status NOT IN ('SENT', 'FAILED')") == 0 }, soon, often)
	t.Logf("%d of %d events were charged more than once", f.count("attempts > 1"), f.count("true"))
	require.Zero(t, f.count("status = 'FAILED'"))
	require.Zero(t, f.count("attempts > 2"))
}
