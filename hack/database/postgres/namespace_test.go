package postgres_test

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/hack/service"
)

// namespace makes a network namespace that has the addresses of the cluster's node and is reached from nowhere else.
func namespace(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	name := service.TemporaryName()
	ip := func(args ...string) { t.Helper(); require.NoError(t, exec.Command("ip", args...).Run(), args) }
	ip("netns", "add", name)
	t.Cleanup(func() { ip("netns", "delete", name) })
	ip("-n", name, "link", "set", "lo", "up")
	ip("-n", name, "address", "add", service.NodeAddress+"/30", "dev", "lo")
	return name
}

func TestServerInANetworkNamespace(t *testing.T) {
	netns := namespace(t)
	server := postgres.StartForTest(t, postgres.Options{Netns: netns, NotDurable: true})
	require.Equal(t, "10.250.0.2:5432", server.Address())
	require.NoError(t, server.Ping(t.Context()))

	// The pods' gateway appears after the server was started, as in a cluster without a pod.
	require.NoError(t, exec.Command("ip", "-n", netns, "address", "add", service.PodAddress+"/24", "dev", "lo").Run())
	config, err := pgx.ParseConfig(server.URL("postgres", "postgres"))
	require.NoError(t, err)
	config.Host, config.TLSConfig.ServerName = service.PodAddress, service.PodAddress
	config.DialFunc = service.Dialer{Netns: netns}.DialContext
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))

	_, err = net.Dial("tcp", "127.0.0.1:5432")
	require.Error(t, err, "nothing listens outside")
}
