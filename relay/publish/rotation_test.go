package publish_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// realRotation changes files under producers that work.
func realRotation(t *testing.T, s *secured) {
	t.Helper()
	for name, run := range map[string]func(*testing.T, *secured){
		"password": passwordIsRotated, "password before the file": passwordIsRevoked, "user": userIsRotated, "certificate": certificateIsRotated, "authority": authorityIsRotated,
		"client secret": clientSecretIsRotated, "refused token": tokenIsRefused, "late": credentialsComeLate, "while publishing": rotationWhilePublishing,
	} {
		t.Run(name, func(t *testing.T) { run(t, s) })
	}
}

func rewrite(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// session publishes a batch and returns the producer id that it was written
// under: each session has another.
func session(t *testing.T, s *secured, p *publish.Producer, topic string) int64 {
	t.Helper()
	requirePublished(t, p, event.Batch{Events: numbered(1).Events})
	records := consume(t, s.Addresses(), topic)
	newest := records[0]
	for _, r := range records {
		if r.Timestamp.After(newest.Timestamp) || r.ProducerID > newest.ProducerID {
			newest = r
		}
	}
	return newest.ProducerID
}

// second is another producer with the credentials of the first. All that it
// does is new, so it needs credentials that are in use.
func second(t *testing.T, s *secured, listener, topic string, c *publish.Credentials) *publish.Producer {
	t.Helper()
	return newProducer(t, s.servers(listener), to(topic), func(config *publish.Config) {
		config.Credentials, config.RequestTimeout = c, 3*time.Second
	})
}

func requireSlots(t *testing.T, code string, slots []string, err error) {
	t.Helper()
	requireRefused(t, code, err)
	var problem *publish.Problem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, slots, problem.Slots)
}

func passwordIsRotated(t *testing.T, s *secured) {
	t.Helper()
	const name, first, next = "rotated", secretWord + "-first", secretWord + "-next"
	require.NoError(t, s.Admin().SetScramUser("SCRAM-SHA-256", name, first))
	login := scram(t, publish.ScramSHA256, first)
	login.Username = name
	p, topic := s.producer(t, passwords, s.trusting(t), login)
	before := session(t, s, p, topic)
	require.NoError(t, p.Credentials().Refresh(t.Context()))
	require.Equal(t, before, session(t, s, p, topic), "nothing has changed yet")

	// The file is early: what works stays.
	rewrite(t, login.PasswordFile, next)
	requireRefused(t, publish.AuthenticationFailed, p.Credentials().Refresh(t.Context()))
	require.Equal(t, before, session(t, s, p, topic))
	requirePublished(t, second(t, s, passwords, topic, p.Credentials()), numbered(1))

	require.NoError(t, s.Admin().SetScramUser("SCRAM-SHA-256", name, next))
	require.NoError(t, p.Credentials().Refresh(t.Context()))
	after := session(t, s, p, topic)
	require.NotEqual(t, before, after)

	rewrite(t, login.PasswordFile, "\n")
	requireSlots(t, publish.CredentialsMissing, []string{publish.SlotPassword}, p.Credentials().Refresh(t.Context()))
	require.NoError(t, os.Remove(login.PasswordFile))
	requireSlots(t, publish.CredentialsMissing, []string{publish.SlotPassword}, p.Credentials().Refresh(t.Context()))
	require.Equal(t, after, session(t, s, p, topic))
	requirePublished(t, second(t, s, passwords, topic, p.Credentials()), numbered(1))
}

// The broker knows the new password before the files do: when the login ends the
// relay is out, with nothing lost or in doubt, until the files have it too.
func passwordIsRevoked(t *testing.T, s *secured) {
	t.Helper()
	const name, first, next = "revoked", secretWord + "-first", secretWord + "-next"
	require.NoError(t, s.Admin().SetScramUser("SCRAM-SHA-512", name, first))
	login := scram(t, publish.ScramSHA512, first)
	login.Username = name
	p, topic := s.producer(t, passwords, s.trusting(t), login)
	requirePublished(t, p, numbered(10))
	sent := 10
	require.NoError(t, s.Admin().SetScramUser("SCRAM-SHA-512", name, next))
	require.Eventually(t, func() bool {
		outcomes, err := publishSoon(t, p, numbered(10))
		if err == nil {
			sent += 10
			return false
		}
		requireRefused(t, publish.AuthenticationFailed, err)
		requireAll(t, event.Unsent, outcomes)
		return true
	}, soon, 20*time.Millisecond)
	requireRefused(t, publish.AuthenticationFailed, p.Probe(t.Context()))
	rewrite(t, login.PasswordFile, next)
	require.NoError(t, p.Probe(t.Context()))
	requirePublished(t, p, numbered(10))
	require.Len(t, consume(t, s.Addresses(), topic), sent+10)
}

// User and password are two files: half of the change is tried in vain.
func userIsRotated(t *testing.T, s *secured) {
	t.Helper()
	login := plain(t, password)
	p, topic := s.producer(t, passwords, s.trusting(t), login)
	before := session(t, s, p, topic)
	rewrite(t, login.UsernameFile, "other")
	requireRefused(t, publish.AuthenticationFailed, p.Credentials().Refresh(t.Context()))
	require.Equal(t, before, session(t, s, p, topic))
	rewrite(t, login.PasswordFile, secretWord+"-other")
	require.NoError(t, p.Credentials().Refresh(t.Context()))
	require.NotEqual(t, before, session(t, s, p, topic))
}

func certificateIsRotated(t *testing.T, s *secured) {
	t.Helper()
	settings := s.mutual(t, s.clients)
	p, topic := s.producer(t, mutual, settings, nil)
	before := session(t, s, p, topic)
	pair := func(a *authority.Authority) authority.Pair {
		return issue(t, a, authority.Request{CommonName: "relay"})
	}
	next, stranger := pair(s.clients), pair(newAuthority(t))
	both := []string{publish.SlotCertificate, publish.SlotKey}

	rewrite(t, settings.CertificateFile, string(next.Certificate))
	requireSlots(t, publish.CredentialsInvalid, both, p.Credentials().Refresh(t.Context()))
	requirePublished(t, second(t, s, mutual, topic, p.Credentials()), numbered(1))
	rewrite(t, settings.CertificateFile, string(stranger.Certificate))
	rewrite(t, settings.PrivateKeyFile, string(stranger.Key))
	requireRefused(t, publish.TLSFailed, p.Credentials().Refresh(t.Context()))
	requirePublished(t, second(t, s, mutual, topic, p.Credentials()), numbered(1))
	rewrite(t, settings.CertificateFile, string(next.Certificate))
	rewrite(t, settings.PrivateKeyFile, string(next.Key))
	require.NoError(t, p.Credentials().Refresh(t.Context()))
	require.NotEqual(t, before, session(t, s, p, topic))
}

func authorityIsRotated(t *testing.T, s *secured) {
	t.Helper()
	settings := s.trusting(t)
	p, topic := s.producer(t, passwords, settings, plain(t, password))
	before := session(t, s, p, topic)
	stranger := newAuthority(t)
	for content, code := range map[string]string{
		"no certificate":       publish.CredentialsInvalid,
		string(stranger.PEM()): publish.TLSFailed,
	} {
		rewrite(t, settings.CAFile, content)
		requireRefused(t, code, p.Credentials().Refresh(t.Context()))
		require.Equal(t, before, session(t, s, p, topic))
	}
	rewrite(t, settings.CAFile, string(stranger.PEM())+string(s.ca.PEM()))
	require.NoError(t, p.Credentials().Refresh(t.Context()))
	require.NotEqual(t, before, session(t, s, p, topic))
}

func clientSecretIsRotated(t *testing.T, s *secured) {
	t.Helper()
	login := s.oauth(t, clientSecret)
	p, topic := s.producer(t, bearer, s.trusting(t), login)
	issued := s.issuer.issued.Load()
	before := session(t, s, p, topic)
	for range 3 { // One token serves all.
		requirePublished(t, second(t, s, bearer, topic, p.Credentials()), numbered(1))
	}
	require.Equal(t, issued+1, s.issuer.issued.Load())
	rewrite(t, login.OAuth.ClientSecretFile, secretWord)
	requireSlots(t, publish.AuthenticationFailed, []string{publish.SlotClientSecret}, p.Credentials().Refresh(t.Context()))
	require.Equal(t, issued+1, s.issuer.issued.Load())
	requirePublished(t, second(t, s, bearer, topic, p.Credentials()), numbered(1))
	rewrite(t, login.OAuth.ClientSecretFile, clientSecret+"\n\n")
	require.NoError(t, p.Credentials().Refresh(t.Context()))
	require.Equal(t, before, session(t, s, p, topic), "it is the old secret again")
}

// A token that the broker does not take is not kept until it expires.
func tokenIsRefused(t *testing.T, s *secured) {
	t.Helper()
	p, _ := s.producer(t, bearer, s.trusting(t), s.oauth(t, clientSecret))
	s.issuer.wrong.Store(true)
	defer s.issuer.wrong.Store(false)
	requireRefused(t, publish.AuthenticationFailed, p.Probe(t.Context()))
	s.issuer.wrong.Store(false)
	require.NoError(t, p.Probe(t.Context()))
	requirePublished(t, p, numbered(10))
}

// A relay starts before its Secret is there, and goes on by itself.
func credentialsComeLate(t *testing.T, s *secured) {
	t.Helper()
	login := plain(t, password)
	require.NoError(t, os.Remove(login.UsernameFile))
	require.NoError(t, os.Remove(login.PasswordFile))
	p, _ := s.producer(t, passwords, s.trusting(t), login)
	missing := []string{publish.SlotUsername, publish.SlotPassword}
	requireSlots(t, publish.CredentialsMissing, missing, p.Probe(t.Context()))
	outcomes, err := publishSoon(t, p, numbered(10))
	requireSlots(t, publish.CredentialsMissing, missing, err)
	requireAll(t, event.Unsent, outcomes)
	rewrite(t, login.UsernameFile, "relay")
	rewrite(t, login.PasswordFile, password)
	require.NoError(t, p.Probe(t.Context()))
	requirePublished(t, p, numbered(10))
}

// New credentials are taken up between two batches: every batch is published,
// and nothing twice.
func rotationWhilePublishing(t *testing.T, s *secured) {
	t.Helper()
	login := plain(t, password)
	p, topic := s.producer(t, passwords, s.trusting(t), login)
	requirePublished(t, p, numbered(100))
	done := make(chan struct{})
	var rotating sync.WaitGroup
	rotating.Go(func() {
		defer close(done)
		for i := range 10 {
			name, word := "relay", password
			if i%2 == 0 {
				name, word = "other", secretWord+"-other"
			}
			_ = os.WriteFile(login.UsernameFile, []byte(name), 0o600)
			_ = os.WriteFile(login.PasswordFile, []byte(word), 0o600)
			if err := p.Credentials().Refresh(t.Context()); err != nil {
				t.Errorf("refresh: %v", err)
			}
		}
	})
	sent := 100
	for rotated := false; !rotated; {
		select {
		case <-done:
			rotated = true
		default:
		}
		requirePublished(t, p, numbered(100))
		sent += 100
	}
	rotating.Wait()
	records := consume(t, s.Addresses(), topic)
	require.Len(t, records, sent)
	sessions := map[int64]bool{}
	for _, r := range records {
		sessions[r.ProducerID] = true
	}
	require.Greater(t, len(sessions), 3)
}
