package publish_test

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// proxy stands between producer and broker. It can freeze, which means that both
// ends keep their connections and not a byte moves, and lose one answer.
type proxy struct {
	address  string
	upstream string
	accepted atomic.Int64 // connections so far
	thawed   sync.RWMutex
	losing   atomic.Bool
	lost     atomic.Bool
}

func newProxy(tb testing.TB, upstream string) *proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	p := &proxy{address: listener.Addr().String(), upstream: upstream}
	var pipes sync.WaitGroup
	tb.Cleanup(func() {
		listener.Close()
		pipes.Wait()
	})
	pipes.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			p.accepted.Add(1)
			far, err := net.Dial("tcp", p.upstream)
			if err != nil {
				near.Close()
				continue
			}
			pipes.Go(func() { p.pipe(far, near, func() bool { return false }) })
			pipes.Go(func() { p.pipe(near, far, func() bool { return p.losing.CompareAndSwap(true, false) }) })
		}
	})
	return p
}

func (p *proxy) pipe(to, from net.Conn, lose func() bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.thawed.RLock()
		p.thawed.RUnlock() //nolint:staticcheck // Only waits for the thaw.
		if n > 0 && lose() {
			p.lost.Store(true)
			return
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

func (p *proxy) freeze() { p.thawed.Lock() }
func (p *proxy) thaw()   { p.thawed.Unlock() }

// loseNextAnswer breaks the next connection on which the broker answers.
func (p *proxy) loseNextAnswer() { p.losing.Store(true) }
func (p *proxy) hasLost() bool   { return p.lost.Load() }

// advertise makes the cluster's only broker tell its clients the proxy's address.
func advertise(c *kfake.Cluster, p *proxy) {
	host, port, _ := net.SplitHostPort(p.address)
	number, _ := strconv.Atoi(port)
	c.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return advertised(c, r.(*kmsg.MetadataRequest), host, int32(number)), nil, true
	})
}

func advertised(c *kfake.Cluster, r *kmsg.MetadataRequest, host string, port int32) kmsg.Response {
	response := r.ResponseKind().(*kmsg.MetadataResponse)
	broker := kmsg.NewMetadataResponseBroker()
	broker.Host, broker.Port = host, port
	response.Brokers = append(response.Brokers, broker)
	for _, asked := range r.Topics {
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = asked.Topic
		for partition := range int32(4) {
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Partition, p.Leader = partition, c.LeaderFor(*asked.Topic, partition)
			topic.Partitions = append(topic.Partitions, p)
		}
		response.Topics = append(response.Topics, topic)
	}
	return response
}
