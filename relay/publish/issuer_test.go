package publish_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
)

const (
	clientID     = "relay fleet"
	clientSecret = secretWord + " + % /"
	audience     = "kafka"
)

// issuer is a token endpoint over TLS, whose signed tokens a real broker checks.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey
	// life is that of a token; issued counts them.
	life   atomic.Int64
	issued atomic.Int64
	// wrong: the tokens are for nobody.
	wrong atomic.Bool
}

func newIssuer(t *testing.T, ca *authority.Authority) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	pair := issue(t, ca, authority.Request{CommonName: "issuer", Hosts: []string{"127.0.0.1"}})
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	i := &issuer{key: key}
	i.life.Store(int64(time.Hour))
	i.Server = httptest.NewUnstartedServer(http.HandlerFunc(i.serve))
	i.Config.ErrorLog = log.New(io.Discard, "", 0)
	i.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	i.StartTLS()
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) serve(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id != "relay+fleet" || secret != "hunter2+%2B+%25+%2F" || r.PostFormValue("grant_type") != "client_credentials" {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error": "invalid_client", "error_description": "no such secret: %s"}`, secret)
		return
	}
	life, audience := time.Duration(i.life.Load()), r.PostFormValue("audience")
	if i.wrong.Load() {
		audience = "nobody"
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"access_token": i.sign(audience, life), "token_type": "bearer", "expires_in": life.Seconds(),
	})
}

// sign makes a JWT by RS256.
func (i *issuer) sign(audience string, life time.Duration) string {
	now := time.Now()
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(map[string]any{"alg": "RS256", "kid": "1"}) + "." + part(map[string]any{
		"iss": "issuer", "sub": "relay", "aud": audience, "iat": now.Unix(), "exp": now.Add(life).Unix(), "jti": strconv.FormatInt(i.issued.Add(1), 10),
	})
	digest := sha256.Sum256([]byte(text))
	signature, _ := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, digest[:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// tokens is what the broker is told.
func (i *issuer) tokens() kafka.Tokens {
	encode := base64.RawURLEncoding.EncodeToString
	keys, _ := json.Marshal(map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1",
		"n": encode(i.key.N.Bytes()), "e": encode(big.NewInt(int64(i.key.E)).Bytes()),
	}}})
	return kafka.Tokens{Keys: keys, Issuer: "issuer", Audience: audience}
}
