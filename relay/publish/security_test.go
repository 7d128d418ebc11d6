package publish_test

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// Every secret of these tests contains this word, and no error may.
const secretWord = "hunter2"

const (
	user     = "relay, of = the fleet" // SCRAM has to escape it.
	password = secretWord + "=,plain"
)

// How long a login lasts where the broker limits it.
const loginLife = 3 * time.Second

// Listeners of the broker, beside the one without TLS and login.
const (
	passwords = "PASSWORDS" // TLS and a password
	scramOnly = "SCRAM"     // SCRAM without TLS
	mutual    = "MUTUAL"    // a certificate for each side
	bearer    = "BEARER"    // TLS and a token
	expired   = "EXPIRED"   // TLS with a certificate that has expired
)

// secured is a real broker with all of them.
type secured struct {
	*kafka.Cluster
	// ca signs the broker's certificates, clients those of its clients.
	ca, clients *authority.Authority
	issuer      *issuer
	dir         string
}

func startSecured(t *testing.T) *secured {
	t.Helper()
	s := &secured{ca: newAuthority(t), clients: newAuthority(t), dir: t.TempDir()}
	s.issuer = newIssuer(t, s.ca)
	own := issue(t, s.ca, authority.Request{CommonName: "broker", Hosts: []string{"127.0.0.1"}})
	old := issue(t, s.ca, authority.Request{CommonName: "broker", Hosts: []string{"127.0.0.1"}, Lifetime: -time.Minute})
	scram := []string{"SCRAM-SHA-256", "SCRAM-SHA-512"}
	s.Cluster = kafka.StartForTest(t, kafka.Options{Listeners: []kafka.Listener{
		{
			Name: passwords, Server: own, Mechanisms: append([]string{"PLAIN"}, scram...), MaxReauth: loginLife,
			Users: map[string]string{"relay": password, "other": secretWord + "-other"},
		},
		{Name: scramOnly, Mechanisms: scram},
		{Name: mutual, Server: own, ClientCA: s.clients.PEM()},
		{Name: bearer, Server: own, Mechanisms: []string{"OAUTHBEARER"}, Tokens: s.issuer.tokens(), MaxReauth: loginLife},
		{Name: expired, Server: old},
	}})
	for _, mechanism := range scram {
		require.NoError(t, s.Admin().SetScramUser(mechanism, user, password))
	}
	return s
}

func newAuthority(t *testing.T) *authority.Authority {
	t.Helper()
	a, err := authority.New("tests")
	require.NoError(t, err)
	return a
}

func issue(t *testing.T, a *authority.Authority, r authority.Request) authority.Pair {
	t.Helper()
	pair, err := a.Issue(r)
	require.NoError(t, err)
	return pair
}

// file writes a file of a name that no other test has.
func file(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func secret(t *testing.T, content string) string { t.Helper(); return file(t, []byte(content+"\n")) }

// trusting is TLS that trusts the broker's authority.
func (s *secured) trusting(t *testing.T) *publish.TLS {
	t.Helper()
	return &publish.TLS{CAFile: file(t, s.ca.PEM())}
}

func (s *secured) mutual(t *testing.T, from *authority.Authority) *publish.TLS {
	t.Helper()
	pair := issue(t, from, authority.Request{CommonName: "relay"})
	settings := s.trusting(t)
	settings.CertificateFile, settings.PrivateKeyFile = file(t, pair.Certificate), file(t, pair.Key)
	return settings
}

func scram(t *testing.T, mechanism publish.Mechanism, password string) *publish.Authentication {
	t.Helper()
	return &publish.Authentication{Mechanism: mechanism, Username: user, PasswordFile: secret(t, password)}
}

func plain(t *testing.T, password string) *publish.Authentication {
	t.Helper()
	return &publish.Authentication{Mechanism: publish.Plain, UsernameFile: secret(t, "relay"), PasswordFile: secret(t, password)}
}

func (s *secured) oauth(t *testing.T, clientSecret string) *publish.Authentication {
	t.Helper()
	return &publish.Authentication{Mechanism: publish.OAuthBearer, OAuth: &publish.OAuth{
		TokenEndpoint: s.issuer.URL, ClientID: clientID, ClientSecretFile: secret(t, clientSecret), Audience: audience,
		CAFile: file(t, s.ca.PEM()),
	}}
}

// producer has a topic of its own.
func (s *secured) producer(t *testing.T, listener string, tls *publish.TLS, a *publish.Authentication) (*publish.Producer, string) {
	t.Helper()
	name := strings.NewReplacer("/", ".", " ", "-").Replace(t.Name())
	createTopic(t, s.Cluster, admin.Topic{Name: name, Partitions: 3})
	return newProducer(t, s.servers(listener), to(name), func(c *publish.Config) {
		c.TLS, c.Authentication, c.RequestTimeout = tls, a, 3*time.Second
	}), name
}

func (s *secured) servers(listener string) []string {
	if listener == "" {
		return s.Addresses()
	}
	return s.ListenerAddresses(listener)
}

func TestSecurity(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real broker")
	}
	s := startSecured(t)
	for name, run := range map[string]func(*testing.T, *secured){
		"logins": realLogins, "refusals": realRefusals, "logging in again": realReauthentication, "rotation": realRotation,
	} {
		t.Run(name, func(t *testing.T) { run(t, s) })
	}
}

func realLogins(t *testing.T, s *secured) {
	t.Helper()
	for name, test := range map[string]struct {
		listener string
		tls      *publish.TLS
		login    *publish.Authentication
	}{
		"PLAIN":                        {passwords, s.trusting(t), plain(t, password)},
		"SCRAM-SHA-256":                {passwords, s.trusting(t), scram(t, publish.ScramSHA256, password)},
		"SCRAM-SHA-512":                {passwords, s.trusting(t), scram(t, publish.ScramSHA512, password)},
		"SCRAM-SHA-256 without TLS":    {scramOnly, nil, scram(t, publish.ScramSHA256, password)},
		"SCRAM-SHA-512 without TLS":    {scramOnly, nil, scram(t, publish.ScramSHA512, password)},
		"OAUTHBEARER":                  {bearer, s.trusting(t), s.oauth(t, clientSecret)},
		"mutual TLS":                   {mutual, s.mutual(t, s.clients), nil},
		"Require asks for no CA":       {passwords, &publish.TLS{Mode: publish.TLSRequire}, plain(t, password)},
		"Require takes an expired one": {expired, &publish.TLS{Mode: publish.TLSRequire}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, topic := s.producer(t, test.listener, test.tls, test.login)
			require.NoError(t, p.Probe(t.Context()))
			requirePublished(t, p, numbered(10))
			require.Len(t, consume(t, s.Addresses(), topic), 10)
		})
	}
}

func realRefusals(t *testing.T, s *secured) {
	t.Helper()
	stranger, verifyCA := newAuthority(t), s.trusting(t)
	verifyCA.Mode = publish.TLSVerifyCA
	verifyOther := &publish.TLS{Mode: publish.TLSVerifyCA, CAFile: file(t, stranger.PEM())}
	_, port, _ := net.SplitHostPort(s.servers(passwords)[0])
	for name, test := range map[string]struct {
		listener string
		host     string // instead of the broker's address
		tls      *publish.TLS
		login    *publish.Authentication
		code     string
	}{
		"wrong password, PLAIN":    {passwords, "", s.trusting(t), plain(t, secretWord), publish.AuthenticationFailed},
		"wrong password, SCRAM":    {passwords, "", s.trusting(t), scram(t, publish.ScramSHA512, secretWord), publish.AuthenticationFailed},
		"wrong password, no TLS":   {scramOnly, "", nil, scram(t, publish.ScramSHA256, secretWord), publish.AuthenticationFailed},
		"unknown user":             {passwords, "", s.trusting(t), unknownUser(t), publish.AuthenticationFailed},
		"mechanism not offered":    {scramOnly, "", nil, plain(t, password), publish.AuthenticationFailed},
		"a login where none is":    {"", "", nil, plain(t, password), publish.AuthenticationFailed},
		"wrong client secret":      {bearer, "", s.trusting(t), s.oauth(t, secretWord), publish.AuthenticationFailed},
		"token for another":        {bearer, "", s.trusting(t), otherAudience(s.oauth(t, clientSecret)), publish.AuthenticationFailed},
		"another authority":        {passwords, "", &publish.TLS{CAFile: file(t, stranger.PEM())}, plain(t, password), publish.TLSFailed},
		"another, VerifyCA":        {passwords, "", verifyOther, plain(t, password), publish.TLSFailed},
		"the system's":             {passwords, "", &publish.TLS{}, plain(t, password), publish.TLSFailed},
		"wrong host name":          {passwords, "localhost", s.trusting(t), plain(t, password), publish.TLSFailed},
		"expired certificate":      {expired, "", s.trusting(t), nil, publish.TLSFailed},
		"expired, VerifyCA":        {expired, "", verifyCA, nil, publish.TLSFailed},
		"no client certificate":    {mutual, "", s.trusting(t), nil, publish.TLSFailed},
		"a stranger's":             {mutual, "", s.mutual(t, stranger), nil, publish.TLSFailed},
		"plain text to a TLS port": {mutual, "", nil, nil, publish.TLSFailed},
		"plain login to TLS port":  {passwords, "", nil, scram(t, publish.ScramSHA256, password), publish.TLSFailed},
		"TLS to a plain port":      {"", "", s.trusting(t), nil, publish.TLSFailed},
		"TLS to a plain login":     {scramOnly, "", s.trusting(t), scram(t, publish.ScramSHA256, password), publish.TLSFailed},
	} {
		t.Run(name, func(t *testing.T) {
			way := newProxy(t, s.servers(test.listener)[0])
			host, port, _ := net.SplitHostPort(way.address)
			server := net.JoinHostPort(cmp.Or(test.host, host), port)
			p := newProducer(t, []string{server}, func(c *publish.Config) {
				c.TLS, c.Authentication, c.RequestTimeout = test.tls, test.login, 3*time.Second
			})
			begin := time.Now()
			requireRefused(t, test.code, p.Probe(t.Context()))
			outcomes, err := publishSoon(t, p, numbered(10))
			requireRefused(t, test.code, err)
			requireAll(t, event.Unsent, outcomes)
			require.Less(t, time.Since(begin), soon)
			require.LessOrEqual(t, way.accepted.Load(), int64(4), "connections for two attempts")
		})
	}
	t.Run("the name does not matter to VerifyCA", func(t *testing.T) {
		_, topic := s.producer(t, "", nil, nil)
		require.NoError(t, newProducer(t, []string{"localhost:" + port}, to(topic), func(c *publish.Config) {
			c.TLS, c.Authentication, c.RequestTimeout = verifyCA, plain(t, password), 3*time.Second
		}).Probe(t.Context()))
	})
}

func requireRefused(t *testing.T, code string, err error) {
	t.Helper()
	requireProblem(t, code, err)
	t.Log(err)
	for text := err.Error(); err != nil; text = fmt.Sprintf("%s %+v", text, err) {
		require.NotContains(t, text, secretWord)
		err = unwrapped(err)
	}
}

func unwrapped(err error) error {
	if e, ok := err.(interface{ Unwrap() error }); ok {
		return e.Unwrap()
	}
	return nil
}

func unknownUser(t *testing.T) *publish.Authentication {
	t.Helper()
	a := scram(t, publish.ScramSHA512, password)
	a.Username = "nobody"
	return a
}

func otherAudience(a *publish.Authentication) *publish.Authentication {
	a.OAuth.Audience = "another audience"
	return a
}

// The broker ends each login after three seconds (KIP-368). Whoever logs in again
// in time keeps the connection: the producer id stays the same, and nothing is
// ever in doubt. So does one that was idle when its login ended. The tokens live
// for two logins only, and are renewed in between.
func realReauthentication(t *testing.T, s *secured) {
	t.Helper()
	type loggedIn struct {
		producer *publish.Producer
		topic    string
	}
	var all []loggedIn
	for _, test := range []struct {
		name, listener string
		login          *publish.Authentication
	}{
		{"PLAIN", passwords, plain(t, password)},
		{"SCRAM", passwords, scram(t, publish.ScramSHA512, password)},
		{"OAUTHBEARER", bearer, s.oauth(t, clientSecret)},
	} {
		topic := "again." + test.name
		createTopic(t, s.Cluster, admin.Topic{Name: topic, Partitions: 3})
		all = append(all, loggedIn{newProducer(t, s.servers(test.listener), to(topic), func(c *publish.Config) {
			c.TLS, c.Authentication, c.RequestTimeout = s.trusting(t), test.login, 3*time.Second
		}), topic})
	}
	s.issuer.life.Store(int64(2 * loginLife))
	defer s.issuer.life.Store(int64(time.Hour))
	issued := s.issuer.issued.Load()
	sent := 0
	round := func() {
		for _, l := range all {
			require.NoError(t, l.producer.Credentials().Refresh(t.Context()))
			requirePublished(t, l.producer, numbered(10))
		}
		sent += 10
	}
	for end := time.Now().Add(2*loginLife + time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		round()
	}
	require.GreaterOrEqual(t, s.issuer.issued.Load(), issued+2)
	time.Sleep(2*loginLife + time.Second)
	round()
	for _, l := range all {
		records := consume(t, s.Addresses(), l.topic)
		require.Len(t, records, sent)
		for _, r := range records {
			require.Equal(t, records[0].ProducerID, r.ProducerID, l.topic)
		}
	}
}
