package publish

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return listener
}

func dialThrough(t *testing.T, g *gate, listener net.Listener) (near, far net.Conn) {
	t.Helper()
	near, err := g.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	far, err = listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func TestCutGate(t *testing.T) {
	g, listener := newGate(time.Second, nil), listen(t)
	g.arm(event.NewDeadline(time.Now().Add(time.Hour)))
	near, far := dialThrough(t, g, listener)
	_, err := near.Write([]byte("before"))
	require.NoError(t, err)
	require.True(t, g.isOpen())

	g.cut()
	require.False(t, g.isOpen())
	_, err = near.Write([]byte("after"))
	require.ErrorIs(t, err, errCut)
	_, err = near.Read(make([]byte, 1))
	require.Error(t, err)
	_, err = g.Dial("tcp", listener.Addr().String())
	require.ErrorIs(t, err, errCut)
	got, _ := io.ReadAll(far)
	require.NotContains(t, string(got), "after")

	g.arm(event.NewDeadline(time.Now().Add(time.Hour)))
	require.False(t, g.isOpen(), "a gate that was cut must stay so")
	g.cut()
}

// No timer is needed for the deadline to hold.
func TestGatePastItsDeadline(t *testing.T) {
	g, listener := newGate(time.Second, nil), listen(t)
	g.arm(event.NewDeadline(time.Now().Add(time.Hour)))
	near, _ := dialThrough(t, g, listener)
	g.arm(event.NewDeadline(time.Now().Add(-time.Nanosecond)))
	_, err := near.Write([]byte("late"))
	require.ErrorIs(t, err, errCut)
	_, err = g.Dial("tcp", listener.Addr().String())
	require.ErrorIs(t, err, errCut)

	g.arm(event.NewDeadline(time.Now().Add(time.Hour)))
	_, err = near.Write([]byte("the next batch"))
	require.NoError(t, err)
}

func TestGateForgetsClosedConnections(t *testing.T) {
	g, listener := newGate(time.Second, nil), listen(t)
	g.arm(event.NewDeadline(time.Now().Add(time.Hour)))
	near, _ := dialThrough(t, g, listener)
	require.NoError(t, near.Close())
	require.Empty(t, g.conns)
	require.Empty(t, g.dials)
}
