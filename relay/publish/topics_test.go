package publish_test

import (
	"fmt"
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

// An own topic that appears is found, though not asked for at every try.
func TestOwnTopicAppears(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(1, "late"))
	p := newProducer(t, cluster.ListenAddrs())
	cluster.Fault(kfake.Fault{Keys: metadataRequests, Topic: "late", Err: kerr.UnknownTopicOrPartition, Count: 1})
	batch := event.Batch{Events: []event.Event{{ID: "1", Topic: "late"}}}
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.Equal(t, event.Refused, outcomes[0].Kind)
	require.Eventually(t, func() bool {
		outcomes, err = publishSoon(t, p, batch)
		return err == nil && outcomes[0].Kind == event.Published
	}, soon, 100*time.Millisecond)
}

var metadataRequests = []kmsg.Key{kmsg.Metadata}

// However many events name however many topics that are not there, or must not be
// written to, the broker is asked once for all, and the session goes on.
func TestUnusableTopicsCostNothing(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(1, "forbidden", "its.own"))
	p := newProducer(t, cluster.ListenAddrs())
	requirePublished(t, p, numbered(1))
	cluster.Fault(kfake.Fault{Keys: produceRequests, Topic: "forbidden", Err: kerr.TopicAuthorizationFailed, Count: -1})
	asked := cluster.Fault(kfake.Fault{Keys: metadataRequests, Observe: true, Count: -1})
	produced := cluster.Fault(kfake.Fault{Keys: produceRequests, Observe: true, Count: -1})
	connected := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Observe: true, Count: -1})
	batch := numbered(500)
	for i := range batch.Events {
		switch i % 5 {
		case 0, 1:
			batch.Events[i].Topic = fmt.Sprint("missing.", i%250)
		case 2:
			batch.Events[i].Topic = "forbidden"
		case 3:
			batch.Events[i].Topic = "its.own"
		}
	}
	const rounds = 20
	begin := time.Now()
	for range rounds {
		outcomes, err := publishSoon(t, p, batch)
		require.NoError(t, err)
		for i, o := range outcomes {
			want := event.Published
			if i%5 < 3 {
				want = event.Refused
			}
			require.Equal(t, want, o.Kind, "event %d: %s", i, o.Reason)
		}
	}
	again := 1 + int(time.Since(begin)/(5*time.Second)) // As often as a refusal is forgotten.
	require.LessOrEqual(t, asked.Hits(), 2*again)
	require.LessOrEqual(t, produced.Hits(), rounds+2*again)
	require.Zero(t, connected.Hits())
}

// Where each event names its topic there may be no fleet topic, and nothing is
// asked about one.
func TestNoFleetTopic(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(2, "a", "b"), kfake.AllowAutoTopicCreation())
	p := newProducer(t, cluster.ListenAddrs(), to(""))
	for range 2 {
		require.NoError(t, p.Probe(t.Context()))
	}
	batch := numbered(20)
	for i := range batch.Events {
		batch.Events[i].Topic = []string{"a", "b"}[i%2]
	}
	requirePublished(t, p, batch)
	require.Len(t, consume(t, cluster.ListenAddrs(), "a"), 10)

	batch.Events[7].Topic = ""
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.Equal(t, 19, count(outcomes, event.Published))
	require.Equal(t, event.Rejected, outcomes[7].Kind)

	// The probe tells when no producer id is to be had.
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	requireProblem(t, publish.TopicForbidden, p.Probe(t.Context()))
	away := newProducer(t, []string{"127.0.0.1:1"}, to(""))
	requireProblem(t, publish.Unreachable, away.Probe(t.Context()))
}

// A producer id that is not to be had is nobody's topic's fault.
func TestLostGrantChargesNoOwnTopic(t *testing.T) {
	for name, faults := range map[string][]kfake.Fault{
		"for a new producer id": {
			{Keys: produceRequests, Err: kerr.OutOfOrderSequenceNumber},
			{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.ClusterAuthorizationFailed},
		},
		"to use it": {{Keys: produceRequests, Err: kerr.ClusterAuthorizationFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, kfake.SeedTopics(2, "own"))
			p := newProducer(t, cluster.ListenAddrs())
			batch := numbered(20)
			for i := range batch.Events {
				batch.Events[i].Topic = "own"
			}
			requirePublished(t, p, batch)
			cluster.Fault(faults...)
			outcomes, err := publishSoon(t, p, batch)
			requireProblem(t, publish.TopicForbidden, err)
			requireAll(t, event.Unsent, outcomes)
			requirePublished(t, p, batch)
		})
	}
}

// A cluster that can take nothing is not the events' fault, also where all of
// them name their topics.
func TestSickClusterChargesNoOwnTopic(t *testing.T) {
	for _, answer := range []*kerr.Error{kerr.NotEnoughReplicas, kerr.LeaderNotAvailable} {
		cluster := newCluster(t, kfake.SeedTopics(2, "a", "b"))
		p := newProducer(t, cluster.ListenAddrs(), to(""), impatient)
		fault := cluster.Fault(kfake.Fault{Keys: produceRequests, Err: answer, Count: -1})
		batch := numbered(20)
		for i := range batch.Events {
			batch.Events[i].Topic = []string{"a", "b"}[i%2]
		}
		outcomes, err := publishSoon(t, p, batch)
		requireProblem(t, publish.BrokerFailed, err)
		requireAll(t, event.Unsent, outcomes)
		fault.Remove()
		requirePublished(t, p, batch)
	}
}

func TestInvalidTopicName(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(1, "misnamed"))
	p := newProducer(t, cluster.ListenAddrs())
	cluster.Fault(kfake.Fault{Keys: metadataRequests, Topic: "misnamed", Err: kerr.InvalidTopicException, Count: -1})
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
