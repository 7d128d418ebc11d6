package publish_test

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http/httptest"
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

// freePort returns a port that nobody listens on.
func freePort(tb testing.TB) int {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// A broker that is away, comes, goes and comes again: nothing is lost or called
// sent, and nobody has to do anything.
func TestBrokerAway(t *testing.T) {
	port, data := freePort(t), t.TempDir()
	start := func() *kfake.Cluster { return newCluster(t, kfake.Ports(port), kfake.DataDir(data)) }
	servers := []string{(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()}
	p := newProducer(t, servers, impatient)

	away := func() {
		outcomes, err := publishSoon(t, p, numbered(10))
		requireProblem(t, publish.Unreachable, err)
		requireAll(t, event.Unsent, outcomes)
		requireProblem(t, publish.Unreachable, p.Probe(t.Context()))
	}
	away()
	cluster := start()
	require.NoError(t, p.Probe(t.Context()))
	requirePublished(t, p, numbered(10))
	cluster.Close()
	// The first batch may have been on the dying connection.
	outcomes, err := publishSoon(t, p, numbered(10))
	requireProblem(t, publish.Unreachable, err)
	require.Equal(t, 10, count(outcomes, event.Unsent)+count(outcomes, event.Unknown))
	away()
	start()
	requirePublished(t, p, numbered(10))
}

// The link freezes with a batch on it, and thaws after the deadline.
func TestFrozenLink(t *testing.T) {
	cluster := newCluster(t)
	proxy := newProxy(t, cluster.ListenAddrs()[0])
	advertise(cluster, proxy)
	p := newProducer(t, []string{proxy.address}, func(c *publish.Config) { c.RequestTimeout = soon })
	requirePublished(t, p, numbered(1))

	proxy.freeze()
	thaw := sync.OnceFunc(proxy.thaw)
	defer thaw()
	for name, send := range map[string]func(time.Time) error{
		"publish": func(deadline time.Time) error {
			outcomes, err := p.Publish(t.Context(), numbered(500), event.NewDeadline(deadline))
			require.Zero(t, count(outcomes, event.Published))
			return err
		},
		"publish again": func(deadline time.Time) error {
			outcomes, err := p.Publish(t.Context(), numbered(500), event.NewDeadline(deadline))
			require.Zero(t, count(outcomes, event.Published))
			return err
		},
	} {
		deadline := time.Now().Add(400 * time.Millisecond)
		requireProblem(t, publish.Unreachable, send(deadline))
		require.WithinDuration(t, deadline, time.Now(), 2*time.Second, name)
	}
	thaw()
	requirePublished(t, p, numbered(10))
}

// A server that takes connections and never says a word.
func TestSilentServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	p := newProducer(t, []string{listener.Addr().String()}, func(c *publish.Config) { c.RequestTimeout = soon })
	deadline := time.Now().Add(300 * time.Millisecond)
	outcomes, err := p.Publish(t.Context(), numbered(10), event.NewDeadline(deadline))
	require.WithinDuration(t, deadline, time.Now(), 2*time.Second)
	requireProblem(t, publish.Unreachable, err)
	requireAll(t, event.Unsent, outcomes)
}

func TestDeadlineHasPassed(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	produced := cluster.Fault(kfake.Fault{Keys: produceRequests, Observe: true, Count: -1})
	for name, deadline := range map[string]time.Time{
		"by both clocks":        time.Now().Add(-time.Second),
		"by the wall clock":     time.Now().Add(-time.Second).Round(0),
		"because it is not set": {},
	} {
		outcomes, err := p.Publish(t.Context(), numbered(3), event.NewDeadline(deadline))
		require.NoError(t, err, name)
		requireAll(t, event.Unsent, outcomes)
	}
	require.Zero(t, produced.Hits())
}

// The broker asks for a pause: it is kept, unless the deadline comes first.
func TestThrottling(t *testing.T) {
	cluster := newCluster(t)
	p := newProducer(t, cluster.ListenAddrs())
	requirePublished(t, p, numbered(1))
	throttle(cluster, 900*time.Millisecond)
	deadline := time.Now().Add(300 * time.Millisecond)
	outcomes, err := p.Publish(t.Context(), numbered(1), event.NewDeadline(deadline))
	require.WithinDuration(t, deadline, time.Now(), 2*time.Second)
	require.Error(t, err)
	requireAll(t, event.Unsent, outcomes)

	const pause = 400 * time.Millisecond
	throttle(cluster, pause)
	begin := time.Now()
	requirePublished(t, p, numbered(1))
	require.GreaterOrEqual(t, time.Since(begin), pause)
}

// throttle answers the next produce request with a pause and a failure.
func throttle(c *kfake.Cluster, d time.Duration) {
	c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		response := r.ResponseKind().(*kmsg.ProduceResponse)
		response.ThrottleMillis = int32(d.Milliseconds())
		for _, topic := range r.(*kmsg.ProduceRequest).Topics {
			answered := kmsg.NewProduceResponseTopic()
			answered.Topic = topic.Topic
			for _, partition := range topic.Partitions {
				p := kmsg.NewProduceResponseTopicPartition()
				p.Partition, p.ErrorCode = partition.Partition, kerr.NotEnoughReplicas.Code
				answered.Partitions = append(answered.Partitions, p)
			}
			response.Topics = append(response.Topics, answered)
		}
		return response, nil, true
	})
}

func TestUntrustedCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	require.Equal(t, publish.ClassConfig, publish.Classify(dialTLS(server.Listener.Addr().String())))
}

func dialTLS(address string) error {
	conn, err := tls.Dial("tcp", address, nil)
	if err == nil {
		conn.Close()
	}
	return err
}
