package embedded_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/embedded"
)

func TestItOutlivesItsStarterAndNothingStays(t *testing.T) {
	b, err := embedded.Start(t.Context(), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Remove(context.Background())) })
	require.True(t, b.Running())
	require.NoError(t, b.Admin().CreateTopic(t.Context(), admin.Topic{Name: "orders", Partitions: 3, Replicas: 1}))
	partitions, err := b.Admin().DescribeTopic("orders")
	require.NoError(t, err)
	require.Len(t, partitions, 3)
	require.NoError(t, b.Remove(t.Context()))
	require.False(t, b.Running())
}
