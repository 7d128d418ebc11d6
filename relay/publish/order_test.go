package publish_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// An event that is not published holds back the later ones of its key, and of no
// other: whoever looks next knows what has become of it.
func TestAnEventHoldsBackTheLaterOnesOfItsKey(t *testing.T) {
	keyed := func(id, key string, change ...func(*event.Event)) event.Event {
		e := event.Event{ID: id, Key: []byte(key), Payload: []byte(id)}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	tooLarge := func(e *event.Event) { e.Payload = filler(2 << 20) }
	invalid := func(e *event.Event) { e.Invalid = "headers is not a JSON object" }
	elsewhere := func(e *event.Event) { e.Topic = "not.there" }
	published, rejected, refused, unsent := event.Published, event.Rejected, event.Refused, event.Unsent
	for name, tc := range map[string]struct {
		culprit func(*event.Event)
		is      event.OutcomeKind
	}{
		"too large":             {tooLarge, rejected},
		"invalid":               {invalid, rejected},
		"its own topic missing": {elsewhere, refused},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "1000000"}))
			p := newProducer(t, cluster.ListenAddrs(), func(c *publish.Config) { c.Ordered, c.Compression = true, publish.None })
			batch := event.Batch{Events: []event.Event{
				keyed("a1", "a"), keyed("b1", "b"), keyed("a2", "a", tc.culprit), keyed("b2", "b"), keyed("a3", "a"), keyed("a4", "a"),
				{ID: "free", Payload: []byte("no key")},
			}}
			outcomes, err := publishSoon(t, p, batch)
			require.NoError(t, err)
			want := []event.OutcomeKind{published, published, tc.is, published, unsent, unsent, published}
			for i, o := range outcomes {
				require.Equal(t, want[i], o.Kind, "%s: %q", batch.Events[i].ID, o.Reason)
			}
			requireInOrder(t, ids(consume(t, cluster.ListenAddrs(), fleetTopic)), "a")
		})
	}
}

// Among many records the culprit is found by halves, and the order stays.
func TestBisectingKeepsTheOrder(t *testing.T) {
	cluster := newCluster(t, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "1000000"}))
	p := newProducer(t, cluster.ListenAddrs(), func(c *publish.Config) { c.Ordered, c.Compression = true, publish.None })
	var batch event.Batch
	for i := range 200 {
		e := event.Event{ID: fmt.Sprintf("k%03d", i), Key: []byte("k"), Payload: filler(100)}
		if i == 120 {
			e.Payload = filler(2 << 20)
		}
		batch.Events = append(batch.Events, e)
	}
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	requireAll(t, event.Published, outcomes[:120])
	require.Equal(t, event.Rejected, outcomes[120].Kind)
	requireAll(t, event.Unsent, outcomes[121:])
	got := ids(consume(t, cluster.ListenAddrs(), fleetTopic))
	require.Equal(t, eventIDs(event.Batch{Events: batch.Events[:120]}), got)
}

// An event that is refused holds back later ones of its key, but not one that may
// be in already: that goes again as what it was, and is known by it.
func TestWhatMayBeInIsNotHeldBack(t *testing.T) {
	const other = "other"
	cluster := newCluster(t, kfake.NumBrokers(2), kfake.SeedTopics(1, other))
	for partition := range int32(4) {
		require.NoError(t, cluster.MoveTopicPartition(fleetTopic, partition, 0))
	}
	// A fault answers all of a request.
	require.NoError(t, cluster.MoveTopicPartition(other, 0, 1))
	// kfake appends all the same.
	cluster.Fault(kfake.Fault{Keys: produceRequests, Topic: fleetTopic, Err: kerr.RequestTimedOut})
	cluster.Fault(kfake.Fault{Keys: produceRequests, Err: kerr.InvalidRecord, Count: -1, When: holdsPoison})
	p := newProducer(t, cluster.ListenAddrs(), uncompressed, func(c *publish.Config) { c.Ordered = true })
	outcomes, err := publishSoon(t, p, event.Batch{Events: []event.Event{
		{ID: "refused", Key: []byte("k"), Topic: other, Payload: []byte("POISON")}, {ID: "in", Key: []byte("k")},
	}})
	require.NoError(t, err)
	require.Equal(t, event.Rejected, outcomes[0].Kind)
	require.Equal(t, event.Published, outcomes[1].Kind)
	require.Equal(t, []string{"in"}, ids(consume(t, cluster.ListenAddrs(), fleetTopic)))
}

// The answers of a round are about what was sent in it: a refusal among them
// changes no queue whose answer has not been read.
func TestARefusalIsNotTakenForTheAnswerOfAnotherTopic(t *testing.T) {
	const other, single = "other", "single"
	cluster := newCluster(t, kfake.NumBrokers(2), kfake.SeedTopics(1, other, single))
	require.NoError(t, cluster.MoveTopicPartition(single, 0, 0))
	require.NoError(t, cluster.MoveTopicPartition(other, 0, 1)) // A fault answers all of a request.
	cluster.Fault(kfake.Fault{Keys: produceRequests, Err: kerr.InvalidRecord, Count: -1, When: holdsPoison})
	p := newProducer(t, cluster.ListenAddrs(), uncompressed, func(c *publish.Config) { c.Ordered = true })
	batch := event.Batch{Events: []event.Event{
		{ID: "refused", Key: []byte("k"), Topic: other, Payload: []byte("POISON")},
		// Each is a chunk of its own.
		{ID: "sent with it", Key: []byte("k"), Topic: single, Payload: filler(600 << 10)},
		{ID: "sent later", Key: []byte("j"), Topic: single, Payload: filler(600 << 10)},
	}}
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.Equal(t, event.Rejected, outcomes[0].Kind)
	requireAll(t, event.Published, outcomes[1:])
	require.Equal(t, []string{"sent with it", "sent later"}, ids(consume(t, cluster.ListenAddrs(), single)))
}

// requireInOrder: ids that begin with prefix rise.
func requireInOrder(t *testing.T, got []string, prefix string) {
	t.Helper()
	last := ""
	for _, id := range got {
		if id[:1] == prefix {
			require.Greater(t, id, last)
			last = id
		}
	}
}
