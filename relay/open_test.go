package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/publish"
	"github.com/relayfleet/relayfleet/relay/settings"
)

const secured = `
version: 1
fleet: {namespace: shop, name: orders}
table: {schema: public, name: outbox}
topic: orders.events
database:
  uriFile: /database/uri
  tls: {mode: VerifyCA, caFile: /database/ca, certificateFile: /database/certificate, privateKeyFile: /database/key}
kafka:
  bootstrapServers: ["kafka:9093"]
  compression: Zstd
  tls: {caFile: /kafka/ca, certificateFile: /kafka/certificate, privateKeyFile: /kafka/key}
`

func parse(t *testing.T, text string) settings.Settings {
	t.Helper()
	s, err := settings.Parse([]byte(secured + text))
	require.NoError(t, err)
	return s
}

func TestConnectionsAreThoseOfTheSettings(t *testing.T) {
	s := parse(t, "  authentication: {type: SCRAM-SHA-512, usernameFile: /kafka/username, passwordFile: /kafka/password}\n")
	require.Equal(t, publish.Config{
		Servers: []string{"kafka:9093"}, Topic: "orders.events", ClientID: "relayfleet a", Compression: publish.Zstd,
		TLS: &publish.TLS{
			Mode: publish.TLSVerifyFull, CAFile: "/kafka/ca", CertificateFile: "/kafka/certificate", PrivateKeyFile: "/kafka/key",
		},
		Authentication: &publish.Authentication{
			Mechanism: publish.ScramSHA512, UsernameFile: "/kafka/username", PasswordFile: "/kafka/password",
		},
	}, brokerConfig(s, "a"))
	require.Equal(t, outbox.Config{
		URIFile: "/database/uri", TLSMode: outbox.TLSVerifyCA, CAFile: "/database/ca", ApplicationName: "relayfleet a",
		CertificateFile: "/database/certificate", PrivateKeyFile: "/database/key", Pooling: outbox.SessionPooling,
	}, databaseConfig(s, "a"))
}

// Every mechanism and mode that settings take is one that publish takes too.
func TestEveryLoginCanBeOpened(t *testing.T) {
	for _, login := range []string{
		"{type: PLAIN, username: relay, passwordFile: /p}", "{type: SCRAM-SHA-256, username: relay, passwordFile: /p}",
		"{type: SCRAM-SHA-512, username: relay, passwordFile: /p}",
		"{type: OAUTHBEARER, oauth: {tokenEndpoint: \"https://login.example/token\", clientID: relay, clientSecretFile: /p, scope: s, audience: a, caFile: /c}}",
	} {
		for _, mode := range []settings.TLSMode{settings.TLSVerifyFull, settings.TLSVerifyCA, settings.TLSRequire} {
			s := parse(t, "  authentication: "+login+"\n")
			s.Kafka.TLS.Mode = mode
			_, err := publish.New(brokerConfig(s, ""))
			require.NoError(t, err)
		}
	}
	for _, compression := range []settings.Compression{settings.LZ4, settings.Zstd, settings.CompressionNone} {
		s := parse(t, "")
		s.Kafka.Compression = compression
		_, err := publish.New(brokerConfig(s, ""))
		require.NoError(t, err)
	}
}
