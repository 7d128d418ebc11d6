package publish

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const word = "hunter2"

// endpoint is a token endpoint of a test's making.
type endpoint struct {
	*httptest.Server
	asked  atomic.Int64
	answer atomic.Pointer[http.HandlerFunc]
}

func newEndpoint(t *testing.T, answer http.HandlerFunc) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.set(answer)
	e.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.asked.Add(1)
		(*e.answer.Load())(w, r)
	}))
	e.Config.ErrorLog = log.New(io.Discard, "", 0)
	e.StartTLS()
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) set(answer http.HandlerFunc) { e.answer.Store(&answer) }

func (e *endpoint) tokens(t *testing.T) *tokens {
	t.Helper()
	tokens, err := newTokens(OAuth{TokenEndpoint: e.URL, ClientID: "relay"}, material{clientSecret: word})
	require.NoError(t, err)
	tokens.client.Transport.(*http.Transport).TLSClientConfig = e.Client().Transport.(*http.Transport).TLSClientConfig
	return tokens
}

// numberedTokens gives out another one each time.
func numberedTokens() http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"access_token": "token-%d", "token_type": "Bearer", "expires_in": 3600}`, n.Add(1))
	}
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestOneTokenServesAll(t *testing.T) {
	e := newEndpoint(t, numberedTokens())
	tokens := e.tokens(t)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			token, err := tokens.Token()
			if err != nil || token.Token != "token-1" {
				t.Errorf("%v, %v", token, err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, e.asked.Load())
}

// A token is renewed after four fifths of its life, and what is left of it is
// used when that is in vain.
func TestTokenIsRenewedInTime(t *testing.T) {
	e := newEndpoint(t, numberedTokens())
	tokens := e.tokens(t)
	get := func(want string) {
		t.Helper()
		token, err := tokens.get(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, token)
	}
	get("token-1")
	require.WithinDuration(t, time.Now().Add(48*time.Minute), tokens.renewAt, time.Minute)
	require.WithinDuration(t, time.Now().Add(time.Hour), tokens.expires, time.Minute)

	e.set(says(http.StatusInternalServerError, word))
	age(tokens, 50*time.Minute)
	for range 100 {
		get("token-1")
	}
	require.EqualValues(t, 2, e.asked.Load(), "the endpoint is not asked in a loop")
	requireTokenProblem(t, Unreachable, SlotTokenEndpoint, tokens.renew(t.Context()))

	age(tokens, 20*time.Minute)
	_, err := tokens.get(t.Context())
	requireTokenProblem(t, Unreachable, SlotTokenEndpoint, err)
	e.set(numberedTokens())
	age(tokens, time.Minute)
	get("token-1")
	require.NoError(t, tokens.renew(t.Context()))
}

// age lets time pass for the tokens.
func age(t *tokens, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewAt, t.expires, t.earliest = t.renewAt.Add(-d), t.expires.Add(-d), t.earliest.Add(-d)
}

func TestEndpointThatIsDown(t *testing.T) {
	e := newEndpoint(t, nil)
	tokens := e.tokens(t)
	e.Close()
	for range 1000 {
		_, err := tokens.get(t.Context())
		requireTokenProblem(t, Unreachable, SlotTokenEndpoint, err)
	}
	require.Less(t, tokens.failures, 10)
}

func TestEndpointThatHangs(t *testing.T) {
	ended := make(chan struct{})
	e := newEndpoint(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	})
	defer close(ended)
	tokens := e.tokens(t)
	for range 2 { // An interruption says nothing about the endpoint.
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := tokens.get(ctx)
		cancel()
		requireTokenProblem(t, Unreachable, SlotTokenEndpoint, err)
		require.Zero(t, tokens.failures)
	}
	tokens.client.Timeout = 50 * time.Millisecond
	_, err := tokens.Token()
	requireTokenProblem(t, Unreachable, SlotTokenEndpoint, err)
	require.Equal(t, 1, tokens.failures)
}

// A token that the broker does not take is replaced at once; when it takes no
// token, the endpoint is asked less and less often.
func TestRefusedToken(t *testing.T) {
	e := newEndpoint(t, numberedTokens())
	tokens := e.tokens(t)
	get := func() string {
		token, err := tokens.get(t.Context())
		require.NoError(t, err)
		return token
	}
	require.Equal(t, "token-1", get())
	tokens.accepted()
	tokens.refused()
	require.Equal(t, "token-2", get())
	for range 100 {
		tokens.refused()
		get()
	}
	require.LessOrEqual(t, e.asked.Load(), int64(4))
	age(tokens, maxTokenBackoff)
	tokens.accepted()
	tokens.refused()
	before := e.asked.Load()
	get()
	require.Equal(t, before+1, e.asked.Load())
}

func TestAnswersOfTheEndpoint(t *testing.T) {
	token := func(text string) string { return `{"access_token": "` + text + `"}` }
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		code   string // empty: a token
		slot   string
		life   time.Duration
	}{
		"minimal":          {says(200, token("a.b-c_d~e+f/g==")), "", "", defaultTokenLife},
		"life as a string": {says(200, `{"access_token": "a", "expires_in": "90"}`), "", "", 90 * time.Second},
		"a fraction":       {says(200, `{"access_token": "a", "expires_in": 90.5}`), "", "", 90500 * time.Millisecond},
		"for ever":         {says(200, `{"access_token": "a", "expires_in": 1e300}`), "", "", maxTokenLife},
		"no life":          {says(200, `{"access_token": "a", "expires_in": -1}`), "", "", 0},

		"wrong secret":         {says(400, `{"error": "invalid_client", "error_description": "`+word+`"}`), AuthenticationFailed, SlotClientSecret, 0},
		"401":                  {says(401, word), AuthenticationFailed, SlotClientSecret, 0},
		"scope":                {says(400, `{"error": "invalid_scope"}`), AuthenticationFailed, SlotTokenEndpoint, 0},
		"words of its own":     {says(403, `{"error": "`+word+`"}`), AuthenticationFailed, SlotTokenEndpoint, 0},
		"not there":            {says(404, word), AuthenticationFailed, SlotTokenEndpoint, 0},
		"busy":                 {says(429, word), Unreachable, SlotTokenEndpoint, 0},
		"broken":               {says(503, word), Unreachable, SlotTokenEndpoint, 0},
		"no JSON":              {says(200, "<html>"+word), AuthenticationFailed, SlotTokenEndpoint, 0},
		"nothing":              {says(200, ""), AuthenticationFailed, SlotTokenEndpoint, 0},
		"no token":             {says(200, `{"error": "`+word+`"}`), AuthenticationFailed, SlotTokenEndpoint, 0},
		"another type":         {says(200, `{"access_token": "a", "token_type": "mac"}`), AuthenticationFailed, SlotTokenEndpoint, 0},
		"more than a token":    {says(200, token(`a\u0001auth=`+word)), AuthenticationFailed, SlotTokenEndpoint, 0},
		"too much":             {says(200, token(strings.Repeat("a", maxTokenResponse))), AuthenticationFailed, SlotTokenEndpoint, 0},
		"hangs up":             {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Unreachable, SlotTokenEndpoint, 0},
		"sends somewhere else": {http.RedirectHandler("/elsewhere?"+word, http.StatusTemporaryRedirect).ServeHTTP, AuthenticationFailed, SlotTokenEndpoint, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, test.answer)
			_, life, err := e.tokens(t).ask(t.Context())
			require.EqualValues(t, 1, e.asked.Load())
			if test.code == "" {
				require.NoError(t, err)
				require.Equal(t, test.life, life)
				return
			}
			requireTokenProblem(t, test.code, test.slot, err)
		})
	}
}

func requireTokenProblem(t *testing.T, code, slot string, err error) {
	t.Helper()
	var problem *Problem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, code, problem.Code, err)
	require.Equal(t, []string{slot}, problem.Slots)
	require.NotContains(t, fmt.Sprintf("%+v", err), word)
}

func TestEndpointThatIsNotTrusted(t *testing.T) {
	e := newEndpoint(t, numberedTokens())
	tokens, err := newTokens(OAuth{TokenEndpoint: e.URL, ClientID: "relay"}, material{clientSecret: word})
	require.NoError(t, err)
	_, err = tokens.get(t.Context())
	requireTokenProblem(t, TLSFailed, SlotTokenEndpoint, err)
	_, err = newTokens(OAuth{TokenEndpoint: e.URL}, material{tokenCertificate: "no certificate"})
	requireTokenProblem(t, CredentialsInvalid, SlotTokenCA, err)
	require.Zero(t, e.asked.Load())
}

func TestSecurityThatCannotBeConfigured(t *testing.T) {
	oauth := func(endpoint string) *Authentication {
		return &Authentication{Mechanism: OAuthBearer, OAuth: &OAuth{TokenEndpoint: endpoint, ClientID: "c", ClientSecretFile: "f"}}
	}
	for name, c := range map[string]Config{
		"mode":              {TLS: &TLS{Mode: "Disable"}},
		"half a pair":       {TLS: &TLS{CertificateFile: "f"}},
		"mechanism":         {Authentication: &Authentication{Mechanism: "GSSAPI"}},
		"no user":           {Authentication: &Authentication{Mechanism: Plain, PasswordFile: "f"}},
		"two users":         {Authentication: &Authentication{Mechanism: Plain, Username: "u", UsernameFile: "f", PasswordFile: "f"}},
		"no password":       {Authentication: &Authentication{Mechanism: ScramSHA256, Username: "u"}},
		"no endpoint":       {Authentication: oauth("")},
		"readable endpoint": {Authentication: oauth("http://example.com/token")},
		"user in endpoint":  {Authentication: oauth("https://u:" + word + "@example.com/token")},
		"no OAuth":          {Authentication: &Authentication{Mechanism: OAuthBearer}},
	} {
		c.Servers, c.Topic = []string{"127.0.0.1:1"}, "t"
		_, err := New(c)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), word)
		c.TLS, c.Authentication = nil, oauth("http://127.0.0.1:1/token")
		_, err = New(c)
		require.NoError(t, err)
	}
}

func TestPasswordWithNUL(t *testing.T) {
	_, err := newLogin(Config{Authentication: &Authentication{Mechanism: Plain}}, material{username: "u", password: "\x00" + word})
	require.Equal(t, CredentialsInvalid, problemOf("log in", err).Code)
	require.NotContains(t, err.Error(), word)
}

// A broker cannot make the relay compute for hours, nor quote itself.
func TestBrokersPartOfSCRAM(t *testing.T) {
	client, err := newScramClient(ScramSHA512, material{username: "u", password: word})
	require.NoError(t, err)
	for _, challenge := range []string{"", word, "r=,s=c2FsdA==,i=4096", "r=%s,s=c2FsdA==,i=999999999999", "r=%s,s=c2FsdA==,i=1", "e=" + word} {
		c := &conversation{client: client}
		require.NoError(t, c.Begin("", "", ""))
		first, err := c.Step("")
		require.NoError(t, err)
		_, nonce, _ := strings.Cut(first, "r=")
		_, err = c.Step(strings.ReplaceAll(challenge, "%s", nonce+"x"))
		require.ErrorIs(t, err, errNoScram)
		require.NotContains(t, err.Error(), word)
		require.Equal(t, AuthenticationFailed, judge(err).code)
	}
}

// A web server in the broker's place is found out before anybody believes that
// its answer is a gigabyte long.
func TestPortThatIsNotKafkas(t *testing.T) {
	server := httptest.NewServer(nil)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte(word), 0o600))
	for _, login := range []*Authentication{nil, {Mechanism: Plain, Username: "u", PasswordFile: file}} {
		p, err := New(Config{Servers: []string{server.Listener.Addr().String()}, Topic: "t", Authentication: login})
		require.NoError(t, err)
		err = p.Probe(t.Context())
		var problem *Problem
		require.ErrorAs(t, err, &problem)
		require.Equal(t, Unreachable, problem.Code)
		require.ErrorIs(t, err, errNotKafka)
		p.Close()
	}
}
