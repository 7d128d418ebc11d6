package publish_test

import (
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// A real broker that would create topics, and has rules of who may write: events
// whose own topic is missing or forbidden wait, nothing is created, the others go.
func TestRealTopics(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real broker")
	}
	cluster := kafka.StartForTest(t, kafka.Options{Settings: map[string]string{
		"auto.create.topics.enable":      "true",
		"authorizer.class.name":          "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"allow.everyone.if.no.acl.found": "true",
	}})
	a, err := sarama.NewClusterAdmin(cluster.Addresses(), cluster.Admin().Config())
	require.NoError(t, err)
	defer a.Close()
	for _, topic := range []string{fleetTopic, "secret", "readonly"} {
		createTopic(t, cluster, admin.Topic{Name: topic, Partitions: 3})
	}
	allow(t, a, "secret", "User:somebody", sarama.AclOperationAll)
	allow(t, a, "readonly", "User:ANONYMOUS", sarama.AclOperationDescribe)

	p := newProducer(t, cluster.Addresses())
	batch := numbered(500)
	topics := []string{"", "not.there", "secret", "readonly", "not/a/name"}
	for i := range batch.Events {
		batch.Events[i].Topic = topics[i%len(topics)]
	}
	want := map[string]event.OutcomeKind{
		"": event.Published, "not.there": event.Refused, "secret": event.Refused, "readonly": event.Refused, "not/a/name": event.Rejected,
	}
	for range 20 {
		outcomes, err := publishSoon(t, p, batch)
		require.NoError(t, err)
		for i, o := range outcomes {
			require.Equal(t, want[topics[i%len(topics)]], o.Kind, "%s: %s", topics[i%len(topics)], o.Reason)
		}
	}
	require.Len(t, consume(t, cluster.Addresses(), fleetTopic), 20*100)

	// The fleet's own topic is not created either, nor any by a probe without one.
	absent := newProducer(t, cluster.Addresses(), to("absent"))
	requireProblem(t, publish.TopicMissing, absent.Probe(t.Context()))
	_, err = publishSoon(t, absent, numbered(1))
	requireProblem(t, publish.TopicMissing, err)
	require.NoError(t, newProducer(t, cluster.Addresses(), to("")).Probe(t.Context()))
	there, err := a.ListTopics()
	require.NoError(t, err)
	for _, missing := range []string{"not.there", "absent", "."} {
		require.NotContains(t, there, missing)
	}

	// What appears, or is allowed, is written to.
	createTopic(t, cluster, admin.Topic{Name: "not.there", Partitions: 1})
	allow(t, a, "readonly", "User:ANONYMOUS", sarama.AclOperationWrite)
	require.Eventually(t, func() bool {
		outcomes, err := publishSoon(t, p, batch)
		return err == nil && count(outcomes, event.Published) == 300
	}, soon, 200*time.Millisecond)
}

func allow(t *testing.T, a sarama.ClusterAdmin, topic, who string, operation sarama.AclOperation) {
	t.Helper()
	require.NoError(t, a.CreateACLs([]*sarama.ResourceAcls{{
		Resource: sarama.Resource{ResourceType: sarama.AclResourceTopic, ResourceName: topic, ResourcePatternType: sarama.AclPatternLiteral},
		Acls:     []*sarama.Acl{{Principal: who, Host: "*", Operation: operation, PermissionType: sarama.AclPermissionAllow}},
	}}))
}
