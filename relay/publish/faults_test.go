package publish_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

var produceRequests = []kmsg.Key{kmsg.Produce}

// Whatever a broker answers once, the events end published, and once each.
func TestOneFailureIsOvercome(t *testing.T) {
	for _, answer := range []*kerr.Error{
		kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, // kfake appends before these two
		kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.KafkaStorageError, kerr.UnknownServerError,
		kerr.UnknownTopicOrPartition, kerr.CorruptMessage, kerr.LeaderNotAvailable,
		kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID, kerr.InvalidProducerEpoch,
	} {
		t.Run(answer.Message, func(t *testing.T) {
			cluster := newCluster(t)
			p := newProducer(t, cluster.ListenAddrs(), uncompressed)
			requirePublished(t, p, event.Batch{Events: numbered(40).Events[:20]})
			fault := cluster.Fault(kfake.Fault{Keys: produceRequests, Topic: fleetTopic, Err: answer})
			requirePublished(t, p, event.Batch{Events: numbered(40).Events[20:]})
			require.Equal(t, 1, fault.Hits())
			require.ElementsMatch(t, eventIDs(numbered(40)), ids(consume(t, cluster.ListenAddrs(), fleetTopic)))
		})
	}
}

func uncompressed(c *publish.Config) { c.Compression = publish.None }

func impatient(c *publish.Config) { c.RetryFor = 200 * time.Millisecond }

// An answer that leaves it open whether the records are in stays so, and the
// next batch, under another producer id, is not taken for a duplicate.
func TestUnknownOutcomeStaysUnknown(t *testing.T) {
	for _, answer := range []*kerr.Error{kerr.RequestTimedOut, kerr.NotLeaderForPartition} {
		t.Run(answer.Message, func(t *testing.T) {
			cluster := newCluster(t)
			p := newProducer(t, cluster.ListenAddrs(), impatient)
			first, second := numbered(40).Events[:20], numbered(40).Events[20:]
			fault := cluster.Fault(kfake.Fault{Keys: produceRequests, Err: answer, Count: -1})
			outcomes, err := publishSoon(t, p, event.Batch{Events: first})
			requireProblem(t, publish.BrokerFailed, err)
			requireAll(t, event.Unknown, outcomes)
			fault.Remove()

			requirePublished(t, p, event.Batch{Events: second})
			got := ids(consume(t, cluster.ListenAddrs(), fleetTopic))
			require.Subset(t, got, eventIDs(event.Batch{Events: second}))
		})
	}
}

// A batch that may be in keeps its identity, even when the session has to take a
// new producer id before the next try.
func TestUnknownBatchKeepsItsIdentity(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	cluster.Fault(
		kfake.Fault{Keys: produceRequests, Err: kerr.RequestTimedOut}, // kfake appends all the same
		kfake.Fault{Keys: produceRequests, Err: kerr.OutOfOrderSequenceNumber},
	)
	batch := event.Batch{Events: []event.Event{{ID: "once", Key: []byte("k")}}}
	requirePublished(t, p, batch)
	require.Equal(t, []string{"once"}, ids(consume(t, cluster.ListenAddrs(), fleetTopic)))
}

// "Duplicate" is said of a batch that is in already: it is published.
func TestADuplicateIsPublished(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs(), impatient)
	cluster.Fault(
		kfake.Fault{Keys: produceRequests, Err: kerr.RequestTimedOut}, // kfake appends all the same
		kfake.Fault{Keys: produceRequests, Err: kerr.DuplicateSequenceNumber, Count: -1},
	)
	requirePublished(t, p, event.Batch{Events: []event.Event{{ID: "once", Key: []byte("k")}}})
	require.Equal(t, []string{"once"}, ids(consume(t, cluster.ListenAddrs(), fleetTopic)))
}

// A refusal of the record says nothing about an earlier try that may have passed.
func TestRefusalAfterUnknownIsUnknown(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	cluster.Fault(
		kfake.Fault{Keys: produceRequests, Err: kerr.RequestTimedOut},
		kfake.Fault{Keys: produceRequests, Err: kerr.InvalidRecord},
	)
	outcomes, err := publishSoon(t, p, event.Batch{Events: []event.Event{{ID: "once", Key: []byte("k")}}})
	requireProblem(t, publish.BrokerFailed, err)
	requireAll(t, event.Unknown, outcomes)
}

// The cluster says clearly that it has not appended: nothing was handed over.
func TestNotAppendedIsUnsent(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs(), impatient)
	fault := cluster.Fault(kfake.Fault{Keys: produceRequests, Err: kerr.NotEnoughReplicas, Count: -1})
	outcomes, err := publishSoon(t, p, numbered(20))
	requireProblem(t, publish.BrokerFailed, err)
	requireAll(t, event.Unsent, outcomes)
	fault.Remove()
	requirePublished(t, p, numbered(20))
	require.Len(t, consume(t, cluster.ListenAddrs(), fleetTopic), 20)
}

// The broker appends, and its answer is lost with the connection: the same batch
// goes out again and is recognised.
func TestLostAcknowledgementMakesNoDuplicate(t *testing.T) {
	cluster := newCluster(t)
	proxy := newProxy(t, cluster.ListenAddrs()[0])
	servers, dial := []string{proxy.address}, cluster.ListenAddrs()
	advertise(cluster, proxy)
	p := newProducer(t, servers)
	requirePublished(t, p, event.Batch{Events: numbered(30).Events[:10]})
	proxy.loseNextAnswer()
	requirePublished(t, p, event.Batch{Events: numbered(30).Events[10:]})
	require.True(t, proxy.hasLost())
	require.ElementsMatch(t, eventIDs(numbered(30)), ids(consume(t, dial, fleetTopic)))
}

func TestDroppedConnection(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		return nil, errors.New("dropped by the test"), true
	})
	requirePublished(t, p, numbered(20))
	require.Len(t, consume(t, cluster.ListenAddrs(), fleetTopic), 20)
}

// A leader moves between two batches, so that the first send goes astray.
func TestLeaderMoves(t *testing.T) {
	cluster := newCluster(t, kfake.NumBrokers(3))
	p := newProducer(t, cluster.ListenAddrs())
	requirePublished(t, p, event.Batch{Events: numbered(40).Events[:20]})
	for partition := range int32(4) {
		leader := cluster.LeaderFor(fleetTopic, partition)
		require.NoError(t, cluster.MoveTopicPartition(fleetTopic, partition, (leader+1)%3))
	}
	requirePublished(t, p, event.Batch{Events: numbered(40).Events[20:]})
	require.ElementsMatch(t, eventIDs(numbered(40)), ids(consume(t, cluster.ListenAddrs(), fleetTopic)))
}

// One request fails in the middle of a run of batches: each partition's log is
// in the order of sending all the same (sarama's own producer reordered here).
func TestOrderSurvivesARetry(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	var want []string
	for n := range 5 {
		if n == 1 {
			cluster.Fault(kfake.Fault{Keys: produceRequests, Err: kerr.NotLeaderForPartition})
		}
		batch := event.Batch{}
		for i := range 10 {
			id := fmt.Sprintf("%d-%d", n, i)
			batch.Events = append(batch.Events, event.Event{ID: id, Key: []byte("one key"), Payload: filler(100)})
			want = append(want, id)
		}
		requirePublished(t, p, batch)
	}
	require.Equal(t, want, ids(consume(t, cluster.ListenAddrs(), fleetTopic)))
}

// A poison makes the broker refuse every batch that holds it; it is found by
// halving, and only it is charged.
func TestPoisonIsIsolated(t *testing.T) {
	for answer, kind := range map[*kerr.Error]event.OutcomeKind{
		kerr.InvalidRecord: event.Rejected, kerr.PolicyViolation: event.Rejected,
		kerr.UnsupportedForMessageFormat: event.Refused,
	} {
		t.Run(answer.Message, func(t *testing.T) {
			cluster := newCluster(t)
			p := newProducer(t, cluster.ListenAddrs(), uncompressed)
			batch := numbered(100)
			for i := range batch.Events {
				batch.Events[i].Key = []byte("one key") // A fault that looks at a request answers all its partitions.
			}
			batch.Events[17].Payload = []byte("POISON")
			batch.Events[62].Payload = []byte("POISON")
			cluster.Fault(kfake.Fault{Keys: produceRequests, Err: answer, Count: -1, When: holdsPoison})
			outcomes, err := publishSoon(t, p, batch)
			require.NoError(t, err)
			require.Equal(t, 98, count(outcomes, event.Published))
			for _, guilty := range []int{17, 62} {
				require.Equal(t, kind, outcomes[guilty].Kind)
				require.NotEmpty(t, outcomes[guilty].Reason)
			}
			require.Len(t, consume(t, cluster.ListenAddrs(), fleetTopic), 98)
		})
	}
}

func holdsPoison(r kmsg.Request) bool {
	for _, topic := range r.(*kmsg.ProduceRequest).Topics {
		for _, partition := range topic.Partitions {
			if bytes.Contains(partition.Records, []byte("POISON")) {
				return true
			}
		}
	}
	return false
}

// KIP-467: the broker names the record, so that one more request is enough.
func TestNamedRecordIsBelieved(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	requests := 0
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if requests++; requests > 1 {
			return nil, nil, false
		}
		return nameThird(r.(*kmsg.ProduceRequest)), nil, true
	})
	batch := numbered(8)
	for i := range batch.Events {
		batch.Events[i].Key = []byte("one key")
	}
	outcomes, err := publishSoon(t, p, batch)
	require.NoError(t, err)
	require.Equal(t, event.Rejected, outcomes[3].Kind)
	require.Equal(t, 7, count(outcomes, event.Published))
	require.Equal(t, 2, requests)
}

// nameThird refuses everything because of the record at index 3, and of one that
// is not there.
func nameThird(r *kmsg.ProduceRequest) kmsg.Response {
	response := r.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range r.Topics {
		answered := kmsg.NewProduceResponseTopic()
		answered.Topic = topic.Topic
		for _, partition := range topic.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode = partition.Partition, kerr.InvalidRecord.Code
			for _, index := range []int32{3, 1000} {
				named := kmsg.NewProduceResponseTopicPartitionErrorRecord()
				named.RelativeOffset = index
				p.ErrorRecords = append(p.ErrorRecords, named)
			}
			answered.Partitions = append(answered.Partitions, p)
		}
		response.Topics = append(response.Topics, answered)
	}
	return response
}

func TestOneOversizeAmongAHundred(t *testing.T) {
	cluster := newCluster(t)
	for name, tell := range map[string]bool{"the topic tells its limit": true, "only the refusal tells": false} {
		t.Run(name, func(t *testing.T) {
			if !tell {
				cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: kerr.TopicAuthorizationFailed, Count: -1})
			}
			p := newProducer(t, cluster.ListenAddrs(), uncompressed)
			batch := numbered(100)
			batch.Events[40].Payload = filler(2 << 20)
			outcomes, err := publishSoon(t, p, batch)
			require.NoError(t, err)
			require.Equal(t, event.Rejected, outcomes[40].Kind)
			require.Equal(t, 99, count(outcomes, event.Published))
		})
	}
}

// A broker that has just started has no producer ids to give yet.
func TestProducerIDIsWaitedFor(t *testing.T) {
	cluster := newCluster(t)
	fault := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.CoordinatorLoadInProgress, Count: 3})
	p := newProducer(t, cluster.ListenAddrs())
	require.NoError(t, p.Probe(t.Context()))
	require.Equal(t, 3, fault.Hits())
	requirePublished(t, p, numbered(20))
}

// A broker that takes longer than the deadline: Publish returns at the deadline,
// and what was never handed over never appears.
func TestSlowBroker(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs(), func(c *publish.Config) { c.RequestTimeout = soon })
	requirePublished(t, p, numbered(1))
	slow := make(chan struct{})
	release := sync.OnceFunc(func() { close(slow) })
	defer release()
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.SleepControl(func() { <-slow })
		return nil, nil, false
	})
	// One key, so that only the first mebibyte is handed over in the first round.
	batch := event.Batch{}
	for i := range 40 {
		batch.Events = append(batch.Events, event.Event{ID: fmt.Sprint("slow-", i), Key: []byte("one key"), Payload: filler(100 << 10)})
	}
	deadline := time.Now().Add(500 * time.Millisecond)
	outcomes, err := p.Publish(t.Context(), batch, event.NewDeadline(deadline))
	require.WithinDuration(t, deadline, time.Now(), 2*time.Second)
	requireProblem(t, publish.Unreachable, err)
	unknown := count(outcomes, event.Unknown)
	require.Positive(t, unknown)
	requireAll(t, event.Unsent, outcomes[unknown:])
	release()

	requirePublished(t, p, numbered(1))
	for _, id := range ids(consume(t, cluster.ListenAddrs(), fleetTopic)) {
		for i := unknown; i < len(batch.Events); i++ {
			require.NotEqual(t, batch.Events[i].ID, id, "an event that was called unsent was delivered")
		}
	}
}

func TestCancelledPublish(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs(), func(c *publish.Config) { c.RequestTimeout = soon })
	requirePublished(t, p, numbered(1))
	ctx, cancel := context.WithCancel(t.Context())
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cancel()
		cluster.SleepControl(func() { <-ctx.Done() })
		return nil, nil, true
	})
	outcomes, err := p.Publish(ctx, numbered(10), event.NewDeadline(time.Now().Add(soon)))
	require.ErrorIs(t, err, context.Canceled)
	requireAll(t, event.Unknown, outcomes)
	requirePublished(t, p, numbered(10))
}

func TestClose(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs(), func(c *publish.Config) { c.RequestTimeout = soon })
	requirePublished(t, p, numbered(1))
	arrived, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(arrived)
		cluster.SleepControl(func() { <-release })
		return nil, nil, true
	})
	published := make(chan []event.Outcome, 1)
	go func() {
		outcomes, _ := p.Publish(context.Background(), numbered(10), event.NewDeadline(time.Now().Add(soon)))
		published <- outcomes
	}()
	<-arrived
	p.Close()
	requireAll(t, event.Unknown, <-published)

	outcomes, err := p.Publish(t.Context(), numbered(10), event.NewDeadline(time.Now().Add(soon)))
	require.Error(t, err)
	requireAll(t, event.Unsent, outcomes)
	require.Error(t, p.Probe(t.Context()))
}
