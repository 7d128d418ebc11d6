package publish_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

func TestPublishAndReadBack(t *testing.T) {
	for _, compression := range []publish.Compression{publish.LZ4, publish.Zstd, publish.None} {
		t.Run(string(compression), func(t *testing.T) {
			cluster := newCluster(t)
			p := newProducer(t, cluster.ListenAddrs(), func(c *publish.Config) { c.Compression = compression })
			before := time.Now().Add(-time.Second)
			batch := numbered(500)
			requirePublished(t, p, batch)
			requirePublished(t, p, event.Batch{})
			got := consume(t, cluster.ListenAddrs(), fleetTopic)
			require.ElementsMatch(t, eventIDs(batch), ids(got))
			for _, r := range got {
				require.Equal(t, "key-"+header(r, publish.EventIDHeader), string(r.Key))
				require.WithinRange(t, r.Timestamp, before, time.Now().Add(time.Second))
			}
		})
	}
}
