package integration

import (
	"context"
	wire "encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/relayfleet/relayfleet/hack/service"
)

// fate is what becomes of a produce request on its way.
type fate string

const (
	passes fate = "passes"
	// cutBefore ends the connection before the broker gets the request, cutAfter
	// when the broker has answered, and the answer is lost.
	cutBefore fate = "cut before"
	cutAfter  fate = "cut after"
	// refused names a record of each partition that is to be tried again later,
	// rejected one that is refused for good (KIP-467); nothing is appended.
	refused  fate = "refused"
	rejected fate = "rejected"
)

// fates are how many produce requests of fifty end in which way; all others pass.
type fates map[fate]int

// produceFaults decides, and counts, for all links of a test.
type produceFaults struct {
	mu     sync.Mutex
	fates  fates
	deck   []fate
	counts map[fate]int
}

// set makes the next fifty requests, and all after them, have these fates.
func (p *produceFaults) set(f fates) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fates, p.deck = f, nil
}

// next draws from a shuffled fifty: what is wanted comes, and nobody knows when.
func (p *produceFaults) next() fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.deck) == 0 {
		p.deck = slices.Repeat([]fate{passes}, 50)
		at := rand.Perm(50)
		for f, times := range p.fates {
			for range times {
				p.deck[at[0]], at = f, at[1:]
			}
		}
	}
	is := p.deck[0]
	p.deck = p.deck[1:]
	p.counts[is]++
	return is
}

func (p *produceFaults) count(f fate) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[f]
}

// link is one relay's way to the broker. It understands enough of what passes to
// let chosen produce requests fail, and to have the broker's answers name the link
// as the broker's address. One request at a time is under way on a connection, as
// answers come in the order of requests.
type link struct {
	host     string
	port     int
	upstream string
	faults   *produceFaults

	mu      sync.Mutex
	catcher *catcher
}

func newLink(t *testing.T, upstream string, faults *produceFaults) *link {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(service.Loopback, "0"))
	require.NoError(t, err)
	l := &link{host: service.Loopback, port: listener.Addr().(*net.TCPAddr).Port, upstream: upstream, faults: faults}
	ctx, cancel := context.WithCancel(context.Background())
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { l.serve(ctx, client) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		connections.Wait()
	})
	return l
}

func (l *link) address() string { return net.JoinHostPort(l.host, strconv.Itoa(l.port)) }

func (l *link) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.upstream)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _ = client.Close(); _ = server.Close() })()
	for {
		request, err := readFrame(client)
		if err != nil {
			return
		}
		answer, err := l.exchange(ctx, server, request)
		if err != nil || writeFrame(client, answer) != nil {
			return
		}
	}
}

var errCut = errors.New("cut on purpose")

// exchange returns what the relay is to be answered; an error cuts the connection.
func (l *link) exchange(ctx context.Context, server net.Conn, request []byte) (answer []byte, err error) {
	h, err := parseHeader(request)
	if err != nil {
		return nil, err
	}
	is := passes
	if h.key == kmsg.Produce {
		is = l.faults.next()
	}
	switch is {
	case cutBefore:
		return nil, errCut
	case refused:
		return refusal(h, kerr.UnsupportedForMessageFormat)
	case rejected:
		return refusal(h, kerr.InvalidRecord)
	case passes, cutAfter:
	}
	if err := writeFrame(server, request); err != nil {
		return nil, err
	}
	if answer, err = readFrame(server); err != nil {
		return nil, err
	}
	switch {
	case is == cutAfter:
		return nil, errCut
	case h.key == kmsg.Produce:
		l.hold(ctx)
	case h.key == kmsg.Metadata:
		return l.readdressed(h, answer)
	}
	return answer, nil
}

// brokerTakes is how long the broker seems to take for a produce request, at most:
// on loopback hardly anything would ever be in flight.
const brokerTakes = 40 * time.Millisecond

// hold keeps a produce request's answer for a while, or for as long as somebody wants.
func (l *link) hold(ctx context.Context) {
	l.mu.Lock()
	c := l.catcher
	l.catcher = nil
	l.mu.Unlock()
	if c == nil {
		_ = service.Sleep(ctx, rand.N(brokerTakes)) // Ends early with the test.
		return
	}
	close(c.caught)
	select {
	case <-c.released:
	case <-ctx.Done():
	}
}

// catcher waits for a produce request that the broker has answered, and keeps the answer.
type catcher struct {
	caught, released chan struct{}
}

// catch waits until the broker has answered a produce request; the relay gets the
// answer when release is called.
func (l *link) catch(t *testing.T) (release func()) {
	t.Helper()
	c := &catcher{make(chan struct{}), make(chan struct{})}
	l.mu.Lock()
	l.catcher = c
	l.mu.Unlock()
	select {
	case <-c.caught:
	case <-time.After(soon):
		require.Fail(t, "the relay sends nothing")
	}
	return func() { close(c.released) }
}

// header is what stands before a request's body.
type header struct {
	key         kmsg.Key
	correlation []byte
	request     kmsg.Request
	body        []byte
}

var errMalformed = errors.New("malformed request")

// parseHeader reads the header of a request; request and body only where this
// package has a use for them.
func parseHeader(frame []byte) (h header, err error) {
	if len(frame) < 10 {
		return h, errMalformed
	}
	h.key = kmsg.Key(wire.BigEndian.Uint16(frame))
	version := int16(wire.BigEndian.Uint16(frame[2:]))
	h.correlation = frame[4:8]
	if h.key != kmsg.Produce && h.key != kmsg.Metadata {
		return h, nil
	}
	h.request = kmsg.RequestForKey(h.key.Int16())
	h.request.SetVersion(version)
	client := max(0, int(int16(wire.BigEndian.Uint16(frame[8:])))) // -1 is none.
	if h.body = frame[10:]; len(h.body) < client+1 {
		return h, errMalformed
	}
	if h.body = h.body[client:]; h.request.IsFlexible() {
		if h.body[0] != 0 {
			return h, errMalformed // Tags: there are none.
		}
		h.body = h.body[1:]
	}
	return h, h.request.ReadFrom(h.body)
}

// head is what stands before an answer's body.
func (h header) head() []byte {
	head := slices.Clone(h.correlation)
	if h.request.IsFlexible() {
		head = append(head, 0)
	}
	return head
}

// refusal answers for the broker that a record of each partition is to blame, and
// that nothing was appended.
func refusal(h header, because *kerr.Error) ([]byte, error) {
	request := h.request.(*kmsg.ProduceRequest)
	answer := request.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range request.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic = topic.Topic
		for _, partition := range topic.Partitions {
			var batch kmsg.RecordBatch
			if err := batch.ReadFrom(partition.Records); err != nil {
				return nil, err
			}
			named := kmsg.NewProduceResponseTopicPartitionErrorRecord()
			named.RelativeOffset = rand.Int32N(batch.NumRecords)
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode = partition.Partition, because.Code
			p.ErrorRecords = append(p.ErrorRecords, named)
			t.Partitions = append(t.Partitions, p)
		}
		answer.Topics = append(answer.Topics, t)
	}
	return answer.AppendTo(h.head()), nil
}

// readdressed has the broker's metadata name the link.
func (l *link) readdressed(h header, answer []byte) ([]byte, error) {
	metadata := h.request.ResponseKind()
	before := len(h.head())
	if len(answer) < before {
		return nil, errMalformed
	}
	if err := metadata.ReadFrom(answer[before:]); err != nil {
		return nil, err
	}
	brokers := metadata.(*kmsg.MetadataResponse).Brokers
	for i := range brokers {
		brokers[i].Host, brokers[i].Port = l.host, int32(l.port)
	}
	return metadata.AppendTo(h.head()), nil
}

// largestFrame is more than a relay sends and the broker answers.
const largestFrame = 64 << 20

func readFrame(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	n := wire.BigEndian.Uint32(size[:])
	if n > largestFrame {
		return nil, errMalformed
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(from, frame)
	return frame, err
}

func writeFrame(to io.Writer, frame []byte) error {
	_, err := to.Write(append(wire.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	return err
}
