//go:build verify

package publish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// What only several brokers can show. The parts share three brokers; each has a
// topic of its own, and the last leaves only one broker.
func TestFailover(t *testing.T) {
	cluster := kafka.StartForTest(t, kafka.Options{Count: 3})
	a, err := sarama.NewClusterAdmin(cluster.Addresses(), cluster.Admin().Config())
	require.NoError(t, err)
	defer a.Close()
	for _, part := range []struct {
		name string
		run  func(*testing.T, *kafka.Cluster, sarama.ClusterAdmin)
	}{
		{"leaders move", leadersMove},
		{"partitions are added", partitionsAdded},
		{"topic made anew", topicMadeAnew},
		{"quota", quota},
		{"restarts while idle", restartsWhileIdle},
		{"leader killed", leaderKilled},
		{"too few replicas", tooFewReplicas},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, cluster, a) })
	}
}

// load publishes batches with several producers until it is stopped, and notes
// what became of each event.
type load struct {
	topic string
	stop  chan struct{}
	done  sync.WaitGroup

	mu       sync.Mutex
	outcomes map[string]event.OutcomeKind
	problems []error
	batches  int
}

const loadSlots = 3

func startLoad(t *testing.T, c *kafka.Cluster, topic string, change ...func(*publish.Config)) *load {
	t.Helper()
	l := &load{topic: topic, stop: make(chan struct{}), outcomes: map[string]event.OutcomeKind{}}
	for slot := range loadSlots {
		p := newProducer(t, c.Addresses(), append([]func(*publish.Config){to(topic)}, change...)...)
		require.NoError(t, p.Probe(t.Context()))
		l.done.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				default:
					l.send(p, fmt.Sprintf("%d-%d", slot, n))
				}
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) send(p *publish.Producer, name string) {
	batch := event.Batch{}
	for i := range 50 {
		id := fmt.Sprintf("%s-%d", name, i)
		batch.Events = append(batch.Events, event.Event{ID: id, Key: []byte(id), Payload: filler(300)})
	}
	outcomes, err := p.Publish(context.Background(), batch, event.NewDeadline(time.Now().Add(soon)))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches++
	for i, o := range outcomes {
		l.outcomes[batch.Events[i].ID] = o.Kind
	}
	if err != nil {
		l.problems = append(l.problems, err)
	}
}

// during lets the load go on for some batches, before and after what is done.
func (l *load) during(t *testing.T, do func()) {
	t.Helper()
	l.more(t)
	do()
	l.more(t)
}

func (l *load) more(t *testing.T) {
	t.Helper()
	before := l.count()
	require.Eventually(t, func() bool { return l.count() >= before+20 }, 2*soon, 10*time.Millisecond)
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.batches
}

func (l *load) end() {
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.done.Wait()
}

// requireTruth ends the load and compares the topic: what is called published is
// there once, and beside it nothing but what is called unknown.
func (l *load) requireTruth(t *testing.T, c *kafka.Cluster) {
	t.Helper()
	l.end()
	seen := map[string]int{}
	for _, id := range ids(consume(t, c.Addresses(), l.topic)) {
		seen[id]++
		require.Equal(t, 1, seen[id], "%s is there more than once", id)
		require.Contains(t, []event.OutcomeKind{event.Published, event.Unknown}, l.outcomes[id], "%s must not be there", id)
	}
	kinds := map[event.OutcomeKind]int{}
	for id, kind := range l.outcomes {
		kinds[kind]++
		if kind == event.Published {
			require.Equal(t, 1, seen[id], "%s is not there", id)
		}
	}
	t.Logf("%d batches; published, unsent and unknown: %d, %d, %d; in the log: %d; problems: %v",
		l.batches, kinds[event.Published], kinds[event.Unsent], kinds[event.Unknown], len(seen), errors.Join(l.problems...))
}

func replicated(t *testing.T, c *kafka.Cluster, name string, partitions int32) {
	t.Helper()
	createTopic(t, c, admin.Topic{Name: name, Partitions: partitions, Replicas: 3, Config: map[string]string{"min.insync.replicas": "2"}})
}

func patient(c *publish.Config) { c.RetryFor = soon }

// Partitions get other preferred leaders, and these are elected, several times:
// nobody notices.
func leadersMove(t *testing.T, c *kafka.Cluster, a sarama.ClusterAdmin) {
	t.Helper()
	replicated(t, c, "moves", 6)
	l := startLoad(t, c, "moves")
	for round := range 4 {
		l.during(t, func() {
			before := leadersOf(t, c, "moves")
			var replicas [][]int32
			for partition := range 6 {
				first := (round + 1 + partition) % 3
				replicas = append(replicas, []int32{int32(first) + 1, int32(first+1)%3 + 1, int32(first+2)%3 + 1})
			}
			require.NoError(t, a.AlterPartitionReassignments("moves", replicas))
			require.Eventually(t, func() bool {
				_, _ = a.ElectLeaders(sarama.PreferredElection, map[string][]int32{"moves": {0, 1, 2, 3, 4, 5}})
				now := leadersOf(t, c, "moves")
				for partition, wanted := range replicas {
					if now[partition] != wanted[0] {
						return false
					}
				}
				return true
			}, soon, 100*time.Millisecond)
			if round > 0 {
				require.NotEqual(t, before, leadersOf(t, c, "moves"))
			}
		})
	}
	l.requireTruth(t, c)
	require.Empty(t, l.problems)
}

func leadersOf(t *testing.T, c *kafka.Cluster, topic string) []int32 {
	t.Helper()
	partitions, err := c.Admin().DescribeTopic(topic)
	require.NoError(t, err)
	leaders := make([]int32, len(partitions))
	for _, p := range partitions {
		leaders[p.ID] = p.Leader
	}
	return leaders
}

// Partitions are added: nobody notices, and who looks again uses them.
func partitionsAdded(t *testing.T, c *kafka.Cluster, a sarama.ClusterAdmin) {
	t.Helper()
	replicated(t, c, "grows", 3)
	p := newProducer(t, c.Addresses(), to("grows"))
	requirePublished(t, p, numbered(100))
	l := startLoad(t, c, "grows")
	l.during(t, func() { require.NoError(t, a.CreatePartitions("grows", 9, nil, false)) })
	l.end()
	require.Empty(t, l.problems)
	require.Eventually(t, func() bool {
		require.NoError(t, p.Probe(t.Context()))
		requirePublished(t, p, numbered(100))
		used := map[int32]bool{}
		for _, r := range consume(t, c.Addresses(), "grows") {
			used[r.Partition] = true
		}
		return len(used) == 9
	}, soon, 100*time.Millisecond)
}

// The topic is deleted under load and made anew: meanwhile it is missing, and no
// event is charged; then everything goes on by itself.
func topicMadeAnew(t *testing.T, c *kafka.Cluster, _ sarama.ClusterAdmin) {
	t.Helper()
	replicated(t, c, "anew", 3)
	l := startLoad(t, c, "anew", impatient)
	l.more(t)
	require.NoError(t, c.Admin().DeleteTopic(t.Context(), "anew"))
	l.more(t) // Some of these may still have found it.
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, err := range l.problems {
			if problem, ok := errors.AsType[*publish.Problem](err); ok && problem.Code == publish.TopicMissing {
				return true
			}
		}
		return false
	}, soon, 10*time.Millisecond)
	replicated(t, c, "anew", 3)
	require.Eventually(t, func() bool {
		l.mu.Lock()
		l.problems, l.outcomes = nil, map[string]event.OutcomeKind{}
		l.mu.Unlock()
		l.more(t)
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.problems) == 0
	}, 2*soon, 10*time.Millisecond)
	l.end()
	seen := map[string]int{}
	for _, id := range ids(consume(t, c.Addresses(), "anew")) {
		seen[id]++
	}
	require.NotEmpty(t, l.outcomes)
	for id, kind := range l.outcomes {
		require.Equal(t, event.Published, kind, id)
		require.Equal(t, 1, seen[id], id)
	}
}

// A quota slows the relay down: it waits as long as the broker says, loses no
// outcome, and is back at the deadline even so.
func quota(t *testing.T, c *kafka.Cluster, a sarama.ClusterAdmin) {
	t.Helper()
	const rate = 200 << 10
	replicated(t, c, "quota", 1)
	limit := func(remove bool) {
		require.NoError(t, a.AlterClientQuotas(
			[]sarama.QuotaEntityComponent{{EntityType: sarama.QuotaEntityClientID, MatchType: sarama.QuotaMatchExact, Name: "limited"}},
			sarama.ClientQuotasOp{Key: "producer_byte_rate", Value: rate, Remove: remove}, false))
	}
	limit(false)
	p := newProducer(t, c.Addresses(), to("quota"), uncompressed, func(c *publish.Config) { c.ClientID = "limited" })
	require.NoError(t, p.Probe(t.Context()))
	kinds, sent := map[event.OutcomeKind]int{}, 0
	publishFor := func(name string, each time.Duration, batches int) {
		for n := range batches {
			batch := event.Batch{}
			for i := range 20 {
				id := fmt.Sprintf("%s-%d-%d", name, n, i)
				batch.Events = append(batch.Events, event.Event{ID: id, Key: []byte(id), Payload: filler(10 << 10)})
			}
			deadline := time.Now().Add(each)
			outcomes, _ := p.Publish(t.Context(), batch, event.NewDeadline(deadline))
			require.WithinDuration(t, deadline, time.Now(), each+2*time.Second)
			require.Len(t, outcomes, 20)
			for _, o := range outcomes {
				kinds[o.Kind]++
			}
			sent += 20
		}
	}
	begin := time.Now()
	publishFor("patient", soon, 16)
	require.Equal(t, 320, kinds[event.Published])
	// The quota looks at eleven seconds and lets the first of them through.
	require.Greater(t, time.Since(begin), 320*10<<10/rate*time.Second/4)
	publishFor("hasty", 300*time.Millisecond, 10)
	t.Logf("published, unsent and unknown: %d, %d, %d", kinds[event.Published], kinds[event.Unsent], kinds[event.Unknown])
	require.Positive(t, kinds[event.Unsent])
	require.Equal(t, sent, kinds[event.Published]+kinds[event.Unsent]+kinds[event.Unknown])
	limit(true)
	got := len(consume(t, c.Addresses(), "quota"))
	require.GreaterOrEqual(t, got, kinds[event.Published])
	require.LessOrEqual(t, got, kinds[event.Published]+kinds[event.Unknown])
}

// All brokers restart one after the other while nothing is sent: the next batch
// goes out on new connections, and a probe finds that out at once.
func restartsWhileIdle(t *testing.T, c *kafka.Cluster, _ sarama.ClusterAdmin) {
	t.Helper()
	replicated(t, c, "idle", 6)
	sender, prober := newProducer(t, c.Addresses(), to("idle")), newProducer(t, c.Addresses(), to("idle"))
	requirePublished(t, sender, numbered(100))
	require.NoError(t, prober.Probe(t.Context()))
	for broker := range 3 {
		require.NoError(t, c.StopBroker(t.Context(), broker))
		require.NoError(t, c.StartBroker(t.Context(), broker))
	}
	requireLeaders(t, c, "idle")
	begin := time.Now()
	require.NoError(t, prober.Probe(t.Context()))
	t.Logf("the probe took %s", time.Since(begin))
	begin = time.Now()
	requirePublished(t, sender, numbered(100))
	t.Logf("the batch took %s", time.Since(begin))
	require.Len(t, consume(t, c.Addresses(), "idle"), 200)
}

// requireLeaders waits until each partition has a leader that all brokers know.
func requireLeaders(t *testing.T, c *kafka.Cluster, topic string) {
	t.Helper()
	require.Eventually(t, func() bool {
		partitions, err := c.Admin().DescribeTopic(topic)
		for _, p := range partitions {
			if p.Leader < 0 || len(p.InSync) < 3 {
				return false
			}
		}
		return err == nil && len(partitions) > 0
	}, 2*soon, 100*time.Millisecond)
}

// A broker that leads is killed under load, and comes back.
func leaderKilled(t *testing.T, c *kafka.Cluster, _ sarama.ClusterAdmin) {
	t.Helper()
	replicated(t, c, "killed.leader", 6)
	l := startLoad(t, c, "killed.leader", patient)
	l.during(t, func() { require.NoError(t, c.KillBroker(t.Context(), 0)) })
	require.NotContains(t, leadersOf(t, c, "killed.leader"), int32(1))
	l.during(t, func() { require.NoError(t, c.StartBroker(t.Context(), 0)) })
	requireLeaders(t, c, "killed.leader")
	l.requireTruth(t, c)
}

// With fewer replicas in sync than the topic demands nothing is appended, and
// nothing charged; with two of three brokers gone neither.
func tooFewReplicas(t *testing.T, c *kafka.Cluster, _ sarama.ClusterAdmin) {
	t.Helper()
	createTopic(t, c, admin.Topic{Name: "strict", Partitions: 6, Replicas: 3, Config: map[string]string{"min.insync.replicas": "3"}})
	replicated(t, c, "lonely", 6)
	strict := newProducer(t, c.Addresses(), to("strict"), impatient)
	lonely := newProducer(t, c.Addresses(), to("lonely"), impatient)
	requirePublished(t, strict, numbered(100))
	requirePublished(t, lonely, numbered(100))

	require.NoError(t, c.StopBroker(t.Context(), 2))
	// Another one, that holds no connection to the broker that has gone.
	outcomes, err := publishSoon(t, newProducer(t, c.Addresses(), to("strict"), impatient), numbered(100))
	requireProblem(t, publish.BrokerFailed, err)
	requireAll(t, event.Unsent, outcomes)
	requireUsable(t, lonely)
	requirePublished(t, lonely, numbered(100))

	require.NoError(t, c.StopBroker(t.Context(), 1))
	for range 2 {
		outcomes, err = publishSoon(t, lonely, numbered(100))
		require.Error(t, err)
		t.Logf("one broker left: %v; unsent: %d", err, count(outcomes, event.Unsent))
		require.Equal(t, 100, count(outcomes, event.Unsent)+count(outcomes, event.Unknown))
	}
	require.NoError(t, c.StartBroker(t.Context(), 1))
	require.NoError(t, c.StartBroker(t.Context(), 2))
	requireUsable(t, lonely)
	requirePublished(t, lonely, numbered(100))
	requireUsable(t, strict)
	requirePublished(t, strict, numbered(100))
	seen := map[string]int{}
	for _, id := range ids(consume(t, c.Addresses(), "strict")) {
		seen[id]++
	}
	for id, times := range seen {
		require.Equal(t, 2, times, "%s, which was refused for want of replicas, is there", strings.TrimSpace(id))
	}
}
