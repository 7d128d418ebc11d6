package publish

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

const (
	// tokenPatience bounds one request to the token endpoint.
	tokenPatience = 10 * time.Second
	// maxTokenResponse bounds what is read of its answer.
	maxTokenResponse = 64 << 10
	// defaultTokenLife is that of a token whose life is not told; maxTokenLife
	// bounds one that is.
	defaultTokenLife = 5 * time.Minute
	maxTokenLife     = 24 * time.Hour
	// renewAfter is the part of its life after which a token is renewed.
	renewAfter = 0.8

	minTokenBackoff = time.Second
	maxTokenBackoff = 30 * time.Second
)

// tokens gets access tokens and keeps the newest. All sessions share it, and one
// request at a time is under way.
type tokens struct {
	config OAuth
	secret string
	client *http.Client
	// turn is held by who asks the endpoint.
	turn chan struct{}

	mu    sync.Mutex
	token string
	// renewAt is when a new one is asked for, expires when this one is of no more
	// use, and earliest when the endpoint may be asked again.
	renewAt, expires, earliest time.Time
	// failures counts requests in vain since the last token, err is the last of
	// them; refusals counts the tokens that brokers refused since one was accepted.
	failures, refusals int
	err                error
}

func newTokens(c OAuth, m material) (*tokens, error) {
	roots, err := certificates(SlotTokenCA, m.tokenCertificate)
	if err != nil {
		return nil, err
	}
	return &tokens{
		config: c, secret: m.clientSecret, turn: make(chan struct{}, 1),
		client: &http.Client{
			Timeout: tokenPatience,
			Transport: &http.Transport{ // Without a proxy: the environment is nobody's choice here.
				TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
				DisableKeepAlives:      true,
				MaxResponseHeaderBytes: maxTokenResponse,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Token is what sarama calls when it logs in.
func (t *tokens) Token() (*sarama.AccessToken, error) {
	ctx, cancel := context.WithTimeout(context.Background(), tokenPatience)
	defer cancel()
	token, err := t.get(ctx)
	if err != nil {
		return nil, err
	}
	return &sarama.AccessToken{Token: token}, nil
}

// get returns a token that has not expired, a new one if it is time. A token
// that is still good outlives failures to renew it.
func (t *tokens) get(ctx context.Context) (string, error) {
	if token, err := t.known(time.Now()); token != "" || err != nil {
		return token, err
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", tokenProblem(ctx.Err())
	}
	if token, err := t.known(time.Now()); token != "" || err != nil {
		return token, err
	}
	token, life, err := t.ask(ctx)
	return t.note(time.Now(), token, life, err, ctx.Err() != nil)
}

// renew is get for who wants to hear of a failure although the token is good.
func (t *tokens) renew(ctx context.Context) error {
	if _, err := t.get(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// known answers without the endpoint: a good token, or why there is none yet.
// Neither means that the endpoint is to be asked.
func (t *tokens) known(now time.Time) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait, good := now.Before(t.earliest), t.token != "" && now.Before(t.expires)
	switch {
	case good && (wait || now.Before(t.renewAt)):
		return t.token, nil
	case wait && t.err == nil:
		return "", errShortLife
	case wait:
		return "", t.err
	}
	return "", nil
}

var errShortLife = &Problem{
	Code: AuthenticationFailed, Slots: []string{SlotTokenEndpoint}, Err: errors.New("get a token: the endpoint's tokens expire within a second"),
}

func (t *tokens) note(now time.Time, token string, life time.Duration, err error, interrupted bool) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.token, t.err, t.failures = token, nil, 0
		t.expires = now.Add(life)
		t.renewAt = now.Add(time.Duration(float64(life) * renewAfter))
		// However short its life is, the endpoint is not asked in a tight loop.
		t.earliest = now.Add(tokenBackoff(t.refusals))
		return token, nil
	}
	if !interrupted { // Else it says nothing about the endpoint.
		t.failures++
		t.err, t.earliest = err, now.Add(tokenBackoff(t.failures))
	}
	if t.token != "" && now.Before(t.expires) {
		return t.token, nil
	}
	return "", err
}

// refused: a broker does not take the token; it may have been revoked. A new one
// is asked for at once the first time, and then less and less often.
func (t *tokens) refused() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewAt = time.Time{}
	if t.refusals++; t.refusals == 1 && t.failures == 0 {
		t.earliest = time.Time{}
	}
}

// accepted: a broker takes the token.
func (t *tokens) accepted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refusals = 0
}

func tokenBackoff(inVain int) time.Duration {
	return min(minTokenBackoff<<min(max(inVain-1, 0), 10), maxTokenBackoff)
}

// ask makes one request. The error is a *Problem and quotes nothing that the
// endpoint says, but for the codes of RFC 6749.
func (t *tokens) ask(ctx context.Context) (string, time.Duration, error) {
	request, err := t.request(ctx)
	if err != nil {
		return "", 0, tokenProblem(err)
	}
	response, err := t.client.Do(request)
	if err != nil {
		return "", 0, tokenProblem(err)
	}
	defer response.Body.Close() //nolint:errcheck // All that matters has been read.
	body, err := io.ReadAll(io.LimitReader(response.Body, maxTokenResponse+1))
	if err != nil {
		return "", 0, tokenProblem(err)
	}
	if response.StatusCode != http.StatusOK {
		return "", 0, refusal(response.StatusCode, body)
	}
	return readToken(body)
}

func (t *tokens) request(ctx context.Context) (*http.Request, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if t.config.Scope != "" {
		form.Set("scope", t.config.Scope)
	}
	if t.config.Audience != "" {
		form.Set("audience", t.config.Audience)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.config.TokenEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.SetBasicAuth(url.QueryEscape(t.config.ClientID), url.QueryEscape(t.secret))
	return request, nil
}

// tokenAnswer is what is read of the endpoint's answers.
type tokenAnswer struct {
	AccessToken string      `json:"access_token"`
	TokenType   string      `json:"token_type"`
	ExpiresIn   json.Number `json:"expires_in"` // Some write it as a string, which this type takes too.
	Error       string      `json:"error"`
}

// bearer is what RFC 6750 allows in a token. Anything else could say more to the
// broker than a token does.
var bearer = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

func readToken(body []byte) (string, time.Duration, error) {
	var answer tokenAnswer
	// The decoder's error would quote the answer.
	if len(body) > maxTokenResponse || json.Unmarshal(body, &answer) != nil || !bearer.MatchString(answer.AccessToken) ||
		(answer.TokenType != "" && !strings.EqualFold(answer.TokenType, "Bearer")) {
		return "", 0, &Problem{
			Code: AuthenticationFailed, Slots: []string{SlotTokenEndpoint},
			Err: errors.New("get a token: the endpoint's answer holds no bearer token"),
		}
	}
	life := defaultTokenLife
	if seconds, err := strconv.ParseFloat(string(answer.ExpiresIn), 64); err == nil {
		life = time.Duration(min(max(seconds, 0), maxTokenLife.Seconds()) * float64(time.Second))
	}
	return answer.AccessToken, life, nil
}

// tokenErrors are the codes of RFC 6749, section 5.2, and RFC 8707.
var tokenErrors = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target",
}

// refusal explains an answer that is no success. Only one that blames the client
// needs somebody to change something.
func refusal(status int, body []byte) error {
	text := fmt.Sprintf("get a token: the endpoint answers %d", status)
	var answer tokenAnswer
	if json.Unmarshal(body, &answer) == nil && slices.Contains(tokenErrors, answer.Error) {
		text += " " + answer.Error
	}
	if status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
		return &Problem{Code: Unreachable, Slots: []string{SlotTokenEndpoint}, Err: errors.New(text)}
	}
	slot := SlotTokenEndpoint
	if status == http.StatusUnauthorized || answer.Error == "invalid_client" {
		slot = SlotClientSecret
	}
	return &Problem{Code: AuthenticationFailed, Slots: []string{slot}, Err: errors.New(text)}
}

// tokenProblem explains why there was no answer.
func tokenProblem(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // Without the address, of which the resource says more than an error should.
	}
	code := Unreachable
	if isTLS(err) {
		code = TLSFailed
	}
	return &Problem{Code: code, Slots: []string{SlotTokenEndpoint}, Err: fmt.Errorf("get a token: %w", err)}
}
