package outbox_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

const (
	certified = "certified" // a role that shows a certificate instead of a password
	both      = "both"      // one that needs a password too
)

// mutual is a server that asks for certificates, and the files of a relay.
type mutual struct {
	server *postgres.Server
	ca     *authority.Authority
	config outbox.Config
}

func startMutual(t *testing.T) mutual {
	t.Helper()
	ca, err := authority.New("tests")
	require.NoError(t, err)
	server := postgres.StartForTest(t, postgres.Options{
		Version: database.Server.Options().Version, NotDurable: true, Authority: ca,
		HBA: []string{
			"hostssl all " + certified + " 127.0.0.1/32 cert",
			"hostssl all " + both + " 127.0.0.1/32 scram-sha-256 clientcert=verify-full",
		},
	})
	require.NoError(t, server.CreateRole(t.Context(), certified))
	require.NoError(t, server.CreateRole(t.Context(), both))
	dir := t.TempDir()
	return mutual{server, ca, outbox.Config{
		URIFile: filepath.Join(dir, "uri"), CAFile: server.CAFile(),
		CertificateFile: filepath.Join(dir, "tls.crt"), PrivateKeyFile: filepath.Join(dir, "tls.key"),
	}}
}

func (m mutual) writeURI(t *testing.T, role, password string) {
	t.Helper()
	write(t, m.config.URIFile, []byte("postgres://"+role+password+"@"+m.server.Address()+"/postgres"))
}

func (m mutual) issue(t *testing.T, ca *authority.Authority, role string, life time.Duration) authority.Pair {
	t.Helper()
	pair, err := ca.Issue(authority.Request{CommonName: role, Lifetime: life})
	require.NoError(t, err)
	return pair
}

func (m mutual) show(t *testing.T, p authority.Pair) {
	t.Helper()
	write(t, m.config.CertificateFile, p.Certificate)
	write(t, m.config.PrivateKeyFile, p.Key)
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

func TestClientCertificates(t *testing.T) {
	m := startMutual(t)
	stranger, err := authority.New("tests")
	require.NoError(t, err)
	right := m.server.Password(both)
	for name, test := range map[string]struct {
		role, password string
		pair           authority.Pair
		code           string // empty: it works
	}{
		"instead of a password":     {certified, "", m.issue(t, m.ca, certified, 0), ""},
		"beside a password":         {both, ":" + right, m.issue(t, m.ca, both, 0), ""},
		"without the password":      {both, "", m.issue(t, m.ca, both, 0), outbox.AuthenticationFailed},
		"somebody else's":           {certified, "", m.issue(t, m.ca, both, 0), outbox.AuthenticationFailed},
		"somebody else's, password": {both, ":" + right, m.issue(t, m.ca, certified, 0), outbox.AuthenticationFailed},
		"of another authority":      {certified, "", m.issue(t, stranger, certified, 0), outbox.TLSFailed},
		"expired":                   {certified, "", m.issue(t, m.ca, certified, -time.Minute), outbox.TLSFailed},
	} {
		t.Run(name, func(t *testing.T) {
			m.writeURI(t, test.role, test.password)
			m.show(t, test.pair)
			err := database.Open(t, m.config).Pool().Ping(t.Context())
			if test.code == "" {
				require.NoError(t, err)
				return
			}
			// A server that refuses a certificate says so and hangs up; who writes just then
			// meets the end first, and learns the reason the next time.
			for try := 0; outbox.Classify(err).Code == outbox.Unreachable && try < 20; try++ {
				err = database.Open(t, m.config).Pool().Ping(t.Context())
			}
			requireCode(t, test.code, err)
			require.NotContains(t, err.Error(), right)
		})
	}
	t.Run("none", func(t *testing.T) {
		m.writeURI(t, both, ":"+right)
		config := m.config
		config.CertificateFile, config.PrivateKeyFile = "", ""
		requireCode(t, outbox.AuthenticationFailed, database.Open(t, config).Pool().Ping(t.Context()))
	})
	t.Run("rotated", func(t *testing.T) { clientCertificateIsRotated(t, m) })
}

// Certificate and key are two files, of which one is new before the other.
func clientCertificateIsRotated(t *testing.T, m mutual) {
	t.Helper()
	m.writeURI(t, certified, "")
	m.show(t, m.issue(t, m.ca, certified, 0))
	db := database.Open(t, m.config)
	session := func() (pid int) {
		require.NoError(t, db.Pool().QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
		return pid
	}
	before := session()
	next := m.issue(t, m.ca, certified, 0)
	write(t, m.config.CertificateFile, next.Certificate)
	err := db.Refresh(t.Context())
	requireCode(t, outbox.CredentialsInvalid, err)
	require.Equal(t, []string{outbox.SlotCertificate, outbox.SlotKey}, outbox.Classify(err).Slots)
	require.Equal(t, before, session())
	db.Reconnect()
	before = session() // A new connection still has the old pair.

	write(t, m.config.PrivateKeyFile, next.Key)
	require.NoError(t, db.Refresh(t.Context()))
	require.NotEqual(t, before, session())

	require.NoError(t, os.Remove(m.config.PrivateKeyFile))
	err = db.Refresh(t.Context())
	requireCode(t, outbox.CredentialsMissing, err)
	require.Equal(t, []string{outbox.SlotKey}, outbox.Classify(err).Slots)
	db.Reconnect()
	session()
}
