//go:build verify

package publish_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// Three brokers, and a leader is killed while batches are sent: what is called
// published is there once, and nothing else than that and what is called unknown.
func TestFailover(t *testing.T) {
	c := kafka.StartForTest(t, kafka.Options{Count: 3})
	createTopic(t, c, admin.Topic{
		Name: fleetTopic, Partitions: 6, Replicas: 3, Config: map[string]string{"min.insync.replicas": "2"},
	})
	p := newProducer(t, c.Addresses(), func(c *publish.Config) { c.RetryFor = soon })
	log := map[string]event.OutcomeKind{}
	send := func(n int) error {
		batch := event.Batch{}
		for i := range 200 {
			id := fmt.Sprintf("%d-%d", n, i)
			batch.Events = append(batch.Events, event.Event{ID: id, Key: []byte(id), Payload: filler(300)})
		}
		outcomes, err := publishSoon(t, p, batch)
		for i, o := range outcomes {
			log[batch.Events[i].ID] = o.Kind
		}
		return err
	}
	killed := make(chan error, 1)
	for n := range 60 {
		if n == 20 {
			go func() { killed <- c.KillBroker(t.Context(), 0) }() // In the middle of a send.
		}
		if n == 50 {
			require.NoError(t, <-killed)
			require.NoError(t, c.StartBroker(t.Context(), 0))
		}
		if err := send(n); err != nil {
			t.Logf("batch %d: %v", n, err)
		}
	}
	require.NoError(t, send(60))

	// Too few replicas: clearly nothing is appended.
	require.NoError(t, c.Admin().ConfigureTopic(fleetTopic, map[string]string{"min.insync.replicas": "3"}))
	require.NoError(t, c.StopBroker(t.Context(), 2))
	hasty := newProducer(t, c.Addresses(), impatient)
	outcomes, err := publishSoon(t, hasty, event.Batch{Events: []event.Event{{ID: "refused", Key: []byte("k")}}})
	requireProblem(t, publish.BrokerFailed, err)
	requireAll(t, event.Unsent, outcomes)
	require.NoError(t, c.StartBroker(t.Context(), 2))

	got := consume(t, c.Addresses(), fleetTopic)
	seen := map[string]int{}
	for _, id := range ids(got) {
		seen[id]++
		require.Equal(t, 1, seen[id], "%s is there more than once", id)
		require.Contains(t, []event.OutcomeKind{event.Published, event.Unknown}, log[id], "%s must not be there", id)
	}
	for id, kind := range log {
		if kind == event.Published {
			require.Equal(t, 1, seen[id], "%s is not there", id)
		}
	}
	t.Logf("%d events, %d in the log", len(log), len(got))
}
