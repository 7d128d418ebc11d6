package publish

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Before a partition's sequence numbers run out, the session takes a new
// producer id.
func TestSequenceNumbersRunOut(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	require.NoError(t, err)
	defer cluster.Close()
	p, err := New(Config{Servers: cluster.ListenAddrs(), Topic: "t"})
	require.NoError(t, err)
	defer p.Close()
	batch := event.Batch{Events: []event.Event{{ID: "1"}, {ID: "2"}}}
	send := func() {
		outcomes, err := p.Publish(t.Context(), batch, event.NewDeadline(time.Now().Add(30*time.Second)))
		require.NoError(t, err)
		require.Equal(t, []event.Outcome{{Kind: event.Published}, {Kind: event.Published}}, outcomes)
	}
	send()
	first, to := p.session.id, target{"t", 0}
	require.EqualValues(t, 2, p.session.next[to])
	send()
	require.EqualValues(t, 4, p.session.next[to])
	require.Equal(t, first, p.session.id)

	p.session.next[to] = math.MaxInt32 - 1
	send()
	require.NotEqual(t, first, p.session.id)
	require.EqualValues(t, 2, p.session.next[to])
}

func TestBackoff(t *testing.T) {
	require.Equal(t, minBackoff, backoff(0))
	require.Equal(t, minBackoff, backoff(1))
	require.Equal(t, 2*minBackoff, backoff(2))
	require.Equal(t, maxBackoff, backoff(1000))
}
