package database

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Proxy stands between a relay and Server. It can lose what the server answers,
// and let nobody through.
type Proxy struct {
	listener net.Listener

	mu    sync.Mutex
	mute  bool
	away  bool
	conns []net.Conn
}

// NewProxy listens on an address of the machine until the test ends.
func NewProxy(t *testing.T, address string) *Proxy {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	require.NoError(t, err)
	p := &Proxy{listener: listener}
	t.Cleanup(func() { _ = listener.Close(); p.Cut() })
	go p.serve()
	return p
}

// Address is host and port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", Server.Address())
		if err != nil || !p.admit(client, server) {
			_ = client.Close()
			continue
		}
		go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
		go func() { _, _ = io.Copy(answers{p, client}, server); _ = client.Close() }()
	}
}

func (p *Proxy) admit(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		_ = server.Close()
		return false
	}
	p.conns = append(p.conns, client, server)
	return true
}

// answers are what the server says; a mute proxy swallows it.
type answers struct {
	proxy  *Proxy
	client net.Conn
}

func (a answers) Write(data []byte) (int, error) {
	a.proxy.mu.Lock()
	mute := a.proxy.mute
	a.proxy.mu.Unlock()
	if mute {
		return len(data), nil
	}
	return a.client.Write(data)
}

// SetMute says whether answers are swallowed.
func (p *Proxy) SetMute(mute bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = mute
}

// SetAway says whether the server seems to be away: no connection is left, and
// none is made.
func (p *Proxy) SetAway(away bool) {
	p.mu.Lock()
	p.away = away
	p.mu.Unlock()
	if away {
		p.Cut()
	}
}

// Cut breaks all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}
