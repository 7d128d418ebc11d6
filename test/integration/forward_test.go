package integration

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/service"
)

// freePort is the first of two ports in a row at which nobody listens.
func freePort(t *testing.T) int {
	t.Helper()
	port, err := service.FreePorts(2)
	require.NoError(t, err)
	return port
}

// forward passes connections to port on to a server, until the test ends.
func forward(t *testing.T, port int, to string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(service.Loopback, strconv.Itoa(port)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { pass(ctx, client, to) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		connections.Wait()
	})
}

func pass(ctx context.Context, client net.Conn, to string) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { _ = client.Close(); _ = server.Close() })
	defer stop()
	var answers sync.WaitGroup
	answers.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
	_, _ = io.Copy(server, client)
	_ = server.Close()
	answers.Wait()
}
