package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const minimal = `
version: 1
fleet: {namespace: shop, name: orders, uid: 0b1f}
table: {schema: public, name: outbox}
topic: orders.events
database: {uriFile: /etc/relayfleet/database/uri}
kafka: {bootstrapServers: ["kafka:9092"]}
`

func TestUnsetMeansTheDocumentedDefault(t *testing.T) {
	s, err := Parse([]byte(minimal))
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, s.Lease())
	require.Equal(t, 500, s.BatchSize)
	require.Equal(t, TLSVerifyFull, s.Database.TLS.Mode)
	require.Equal(t, 10, s.Retry.MaxAttempts)
	require.Equal(t, 5*time.Second, s.Retry.Backoff())
	require.Equal(t, 5*time.Minute, s.Retry.MaxBackoff())
	require.Equal(t, 24*time.Hour, s.Retry.MaxAge())
}

func TestAnAgeOfZeroIsAChoiceAndNotUnset(t *testing.T) {
	s, err := Parse([]byte(minimal + "retry: {maxAgeSeconds: 0}\n"))
	require.NoError(t, err)
	require.Zero(t, s.Retry.MaxAge())
}

func TestALongBackoffAloneDoesNotContradictTheDefaultCap(t *testing.T) {
	s, err := Parse([]byte(minimal + "retry: {backoffSeconds: 600}\n"))
	require.NoError(t, err)
	require.Equal(t, 600*time.Second, s.Retry.MaxBackoff())
}

func TestAnUnknownKeyIsRefused(t *testing.T) {
	_, err := Parse([]byte(minimal + "batchsise: 5\n"))
	require.ErrorContains(t, err, "batchsise")
}

func TestEveryProblemIsNamedAtOnce(t *testing.T) {
	_, err := Parse([]byte(`
version: 2
table: {schema: "", name: ` + strings.Repeat("x", 64) + `}
topic: "orders events"
leaseDurationSeconds: 4
batchSize: 10001
database: {tls: {mode: Prefer}}
kafka: {bootstrapServers: [kafka, "kafka:99999"]}
retry: {maxAttempts: -1, backoffSeconds: 10, maxBackoffSeconds: 5}
`))
	for _, path := range []string{
		"version:", "table.schema:", "table.name:", "topic:", "leaseDurationSeconds:", "batchSize:", "database.uriFile:",
		"database.tls.mode:", "kafka.bootstrapServers[0]:", "kafka.bootstrapServers[1]:", "retry.maxAttempts:", "retry.maxBackoffSeconds:",
	} {
		require.ErrorContains(t, err, path)
	}
}

func TestRenderedSettingsAreReadBackAndOnlySetKeysAreWritten(t *testing.T) {
	s := Settings{
		Fleet: Fleet{Namespace: "shop", Name: "orders", UID: "0b1f"}, Table: Table{Schema: "public", Name: "outbox"}, Topic: "orders",
		Database: Database{URIFile: "/uri"}, Kafka: Kafka{BootstrapServers: []string{"kafka:9092"}},
	}
	data, err := Render(s)
	require.NoError(t, err)
	require.NotContains(t, string(data), "batchSize")
	require.NotContains(t, string(data), "retry")
	again, err := Parse(data)
	require.NoError(t, err)
	require.Equal(t, Hash(data), again.Hash())
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte("version: 1\nretry: {maxAgeSeconds: null}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		rendered, err := Render(s)
		require.NoError(t, err)
		_, err = Parse(rendered)
		require.NoError(t, err)
	})
}
