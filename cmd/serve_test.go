package cmd

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/service"
)

func TestProfilesStayOnTheLoopbackAddressUnlessAnotherIsGiven(t *testing.T) {
	for given, want := range map[string]string{
		"": "", ":6060": "127.0.0.1:6060", "0.0.0.0:6060": "0.0.0.0:6060", "[::1]:6060": "[::1]:6060",
	} {
		require.Equal(t, want, loopback(given))
	}
}

func TestAnEmptyAddressServesNothingAndATakenOneIsAnError(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	stop, err := serveAll(t.Context(), log, []endpoint{{what: "metrics"}})
	require.NoError(t, err)
	stop()

	taken := endpoint{"reports", "127.0.0.1:0", http.NotFoundHandler(), time.Second}
	stop, err = serveAll(t.Context(), log, []endpoint{taken, {"metrics", "no address", nil, time.Second}})
	require.ErrorContains(t, err, "serve metrics")
	require.Nil(t, stop)
}

func TestARelayServesMetricsAndProfilesWhereItIsTold(t *testing.T) {
	first, err := service.FreePorts(3)
	require.NoError(t, err)
	var ports []string
	for i := range 3 {
		ports = append(ports, net.JoinHostPort(service.Loopback, strconv.Itoa(first+i)))
	}
	path := filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
version: 1
table: {schema: public, name: outbox}
topic: orders
database: {uriFile: /nowhere/uri}
kafka: {bootstrapServers: ["127.0.0.1:1"]}
mapping: {preset: Lab}
`), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runRelay(ctx, relayFlags{config: path, listen: ports[0], metrics: ports[1], pprof: ports[2], grace: time.Second})
	}()
	require.Contains(t, get(t, "http://"+ports[1]+"/metrics"), "relayfleet_events_in_flight 0")
	require.Contains(t, get(t, "http://"+ports[2]+"/debug/pprof/"), "goroutine")
	require.Contains(t, get(t, "http://"+ports[0]+"/v1/report"), `"limits":["attempts"`)
	cancel()
	require.NoError(t, <-ended)
}

// get asks until there is an answer.
func get(t *testing.T, url string) string {
	t.Helper()
	var body string
	require.Eventually(t, func() bool {
		response, err := http.Get(url)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		body = string(data)
		return err == nil && response.StatusCode == http.StatusOK
	}, 30*time.Second, 20*time.Millisecond)
	return body
}
