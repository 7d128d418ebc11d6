package publish_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

func TestFleetTopicMissing(t *testing.T) {
	cluster := newCluster(t, kfake.AllowAutoTopicCreation())
	p := newProducer(t, cluster.ListenAddrs(), func(c *publish.Config) { c.Topic = "missing" })
	for range 2 {
		outcomes, err := publishSoon(t, p, numbered(10))
		requireProblem(t, publish.TopicMissing, err)
		requireAll(t, event.Unsent, outcomes)
		requireProblem(t, publish.TopicMissing, p.Probe(t.Context()))
	}
}

func TestFleetTopicForbidden(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	requirePublished(t, p, numbered(10))
	fault := cluster.Fault(kfake.Fault{Keys: produceRequests, Err: kerr.TopicAuthorizationFailed, Count: -1})
	outcomes, err := publishSoon(t, p, numbered(10))
	requireProblem(t, publish.TopicForbidden, err)
	requireAll(t, event.Unsent, outcomes)
	fault.Remove()
	requirePublished(t, p, numbered(10))
}

func TestNoProducerIDAllowed(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.ClusterAuthorizationFailed, Count: 2})
	requireProblem(t, publish.TopicForbidden, p.Probe(t.Context()))
	outcomes, err := publishSoon(t, p, numbered(10))
	requireProblem(t, publish.TopicForbidden, err)
	requireAll(t, event.Unsent, outcomes)
	requirePublished(t, p, numbered(10))
}

// A row's own topic concerns that row alone.
func TestOwnTopics(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(1, "its.own", "forbidden", "crippled"))
	p := newProducer(t, cluster.ListenAddrs(), impatient)
	cluster.Fault(
		kfake.Fault{Keys: produceRequests, Topic: "forbidden", Err: kerr.TopicAuthorizationFailed, Count: -1},
		kfake.Fault{Keys: produceRequests, Topic: "crippled", Err: kerr.NotEnoughReplicas, Count: -1},
	)
	batch := numbered(60)
	topics := []string{"", "its.own", "no.such.topic", "forbidden", "crippled", fleetTopic}
	for i := range batch.Events {
		batch.Events[i].Topic = topics[i%len(topics)]
	}
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	for i, o := range outcomes {
		switch topics[i%len(topics)] {
		case "no.such.topic", "forbidden", "crippled":
			require.Equal(t, event.Refused, o.Kind, "event %d", i)
			require.NotEmpty(t, o.Reason)
		default:
			require.Equal(t, event.Published, o.Kind, "event %d", i)
		}
	}
	require.Len(t, consume(t, cluster.ListenAddrs(), fleetTopic), 20)
	require.Len(t, consume(t, cluster.ListenAddrs(), "its.own"), 10)
}

// An own topic that appears is found at the next try.
func TestOwnTopicAppears(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(1, "late"))
	p := newProducer(t, cluster.ListenAddrs())
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "late", Err: kerr.UnknownTopicOrPartition, Count: 1})
	batch := event.Batch{Events: []event.Event{{ID: "1", Topic: "late"}}}
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.Equal(t, event.Refused, outcomes[0].Kind)
	requirePublished(t, p, batch)
}

func TestInvalidTopicName(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(1, "misnamed"))
	p := newProducer(t, cluster.ListenAddrs())
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "misnamed", Err: kerr.InvalidTopicException, Count: -1})
	batch := numbered(5)
	for i, name := range []string{"misnamed", string(filler(40 << 10)), "a name/that cannot be", ".."} {
		batch.Events[i].Topic = name
	}
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.Equal(t, event.Rejected, outcomes[0].Kind)
	require.Equal(t, event.Rejected, outcomes[0].Kind, outcomes[0].Reason)
	require.Equal(t, event.Rejected, outcomes[1].Kind, outcomes[1].Reason)
}

// Some partitions have no leader: their events stay, the others go.
func TestLeaderlessPartition(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs(), impatient)
	fault := cluster.Fault(kfake.Fault{Keys: produceRequests, Topic: fleetTopic, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable, Count: -1})
	outcomes, err := publishSoon(t, p, numbered(100))
	requireProblem(t, publish.BrokerFailed, err)
	require.Equal(t, 100, count(outcomes, event.Published)+count(outcomes, event.Unsent))
	require.Positive(t, count(outcomes, event.Published))
	require.Positive(t, count(outcomes, event.Unsent))
	fault.Remove()
	require.Len(t, consume(t, cluster.ListenAddrs(), fleetTopic), count(outcomes, event.Published))
}

func TestUnconfigured(t *testing.T) {
	for name, c := range map[string]publish.Config{
		"no server":           {Topic: "t"},
		"no topic":            {Servers: []string{"h:1"}},
		"unknown compression": {Servers: []string{"h:1"}, Topic: "t", Compression: "rar"},
		"unknown headers":     {Servers: []string{"h:1"}, Topic: "t", Headers: "Many"},
	} {
		_, err := publish.New(c)
		require.Error(t, err, name)
	}
	// No broker is needed, and nothing is left behind.
	p, err := publish.New(publish.Config{Servers: []string{"h:1"}, Topic: "t", RequestTimeout: time.Second})
	require.NoError(t, err)
	p.Close()
}
