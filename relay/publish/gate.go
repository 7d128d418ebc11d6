package publish

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

var errCut = errors.New("connection refused by the gate")

// gate is the dialer of one session, and its only way to the network. Once it is
// cut, or past its deadline, nothing leaves the process through it any more. A
// gate that is cut stays so: who holds a part of a dead session can do no harm.
type gate struct {
	timeout time.Duration
	// tls is what connections are secured with; nil: nothing.
	tls *tls.Config

	mu       sync.Mutex
	closed   bool
	deadline *event.Deadline
	conns    map[*gatedConn]struct{}
	dials    map[*context.CancelFunc]struct{}
}

func newGate(timeout time.Duration, settings *tls.Config) *gate {
	return &gate{timeout: timeout, tls: settings, conns: map[*gatedConn]struct{}{}, dials: map[*context.CancelFunc]struct{}{}}
}

// arm sets until when the gate lets anything through.
func (g *gate) arm(deadline *event.Deadline) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deadline = deadline
}

func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.closed && !g.isOver()
}

// isOver: a gate that nobody has armed lets nothing through.
func (g *gate) isOver() bool { return g.deadline == nil || g.deadline.Passed() }

// cut ends all connections at once. What the kernel has not sent yet is thrown
// away, or a link that was frozen would still deliver it when it thaws.
func (g *gate) cut() {
	g.mu.Lock()
	g.closed = true
	conns, dials := g.conns, g.dials
	g.conns, g.dials = nil, nil
	g.mu.Unlock()
	for cancel := range dials {
		(*cancel)()
	}
	for c := range conns {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // An error means that it is closed already.
		}
		_ = c.Conn.Close()
	}
}

// Dial is what sarama calls for every connection. TLS is made here too, where it
// is bounded and its failures can be told from others.
func (g *gate) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), g.timeout)
	defer cancel()
	g.mu.Lock()
	if g.closed || g.isOver() {
		g.mu.Unlock()
		return nil, errCut
	}
	g.dials[&cancel] = struct{}{}
	g.mu.Unlock()
	defer g.forget(&cancel)

	conn, err := g.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if g.tls == nil {
		return &checkedConn{Conn: conn}, nil
	}
	return handshake(ctx, conn, g.tls, address)
}

func (g *gate) forget(dial *context.CancelFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.dials, dial)
}

func (g *gate) connect(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = raw.Close()
		return nil, errCut
	}
	c := &gatedConn{Conn: raw, gate: g}
	g.conns[c] = struct{}{}
	return c, nil
}

type gatedConn struct {
	net.Conn
	gate *gate
}

// Write asks the clock again: a process that was stopped and goes on after its
// deadline may come here before any timer has fired.
func (c *gatedConn) Write(p []byte) (int, error) {
	if !c.gate.isOpen() {
		return 0, errCut
	}
	return c.Conn.Write(p)
}

func (c *gatedConn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}
