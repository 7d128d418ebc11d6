package backlog

import (
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/relayfleet/relayfleet/relay/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, handler http.HandlerFunc) (address string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestAReportIsRead(t *testing.T) {
	t.Parallel()
	want := report.Report{Version: report.Version, Namespace: "shop", Resource: "r", Pod: "p", State: report.Running}
	got, err := NewHTTPReader().Read(t.Context(), serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, report.Path, r.URL.Path)
		data, err := report.Encode(want)
		assert.NoError(t, err)
		_, _ = w.Write(data)
	}))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestWhatIsNoReport(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    error
	}{
		"another status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, ErrRefused},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+elsewhere, http.StatusFound)
		}, ErrRefused},
		"no JSON":         {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, ErrMalformed},
		"another version": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"version":2}`)) }, ErrMalformed},
		"without an end": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat("x", 1024))); err != nil {
					return
				}
			}
		}, ErrMalformed},
		"a large header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Large", strings.Repeat("x", 64<<10))
		}, ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewHTTPReader().Read(t.Context(), serve(t, tc.handler))
			require.ErrorIs(t, err, tc.want)
		})
	}
}

func TestASilentRelayIsGivenUp(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	start := time.Now()
	_, err = NewHTTPReader().Read(t.Context(), listener.Addr().String())
	require.ErrorIs(t, err, ErrUnreachable)
	require.GreaterOrEqual(t, time.Since(start), readTimeout)
}

func TestNoProxyIsUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	require.Nil(t, NewHTTPReader().client.Transport.(*http.Transport).Proxy)
}

func TestAReportIsOnlyAHint(t *testing.T) {
	t.Parallel()
	got := clamp(report.Report{
		Database: report.Health{Code: "Pwned", Slots: []string{"b", "a", "a", "rm -rf", strings.Repeat("x", 64), "<b>"}, ForSeconds: -1},
		Rates:    report.Rates{Published: -5, Stale: math.MaxInt64},
		Limits:   []string{"token", "<b>", "age", "token"},
		Findings: []report.Code{"<b>", report.IndexMissing, report.OK, report.RowsVanish, report.IndexMissing},
		Backlog:  &report.Backlog{AgeSeconds: -3, OldestEligibleAgeSeconds: 1e300, Eligible: math.MaxInt64, Failed: -1},
	})
	require.Equal(t, report.Health{Code: report.Unchecked, Slots: []string{"a", "b"}}, got.Database)
	require.Equal(t, report.Rates{Stale: maxCount}, got.Rates)
	require.Equal(t, []string{"age", "token"}, got.Limits)
	require.Equal(t, []report.Code{report.RowsVanish, report.IndexMissing}, got.Findings)
	require.Equal(t, &report.Backlog{OldestEligibleAgeSeconds: maxAgeSeconds, Eligible: maxCount}, got.Backlog)
	for _, age := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.Nil(t, clamp(report.Report{Backlog: &report.Backlog{OldestEligibleAgeSeconds: age}}).Backlog)
	}
}

func TestTheNewestLookCounts(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	look := func(age, eligible float64) *report.Backlog {
		return &report.Backlog{AgeSeconds: age, OldestEligibleAgeSeconds: eligible}
	}
	o := Observation{Answers: []Answer{
		{At: now, Report: report.Report{Backlog: look(10, 1), Rates: report.Rates{Published: 3}}},
		{At: now.Add(-5 * time.Second), Report: report.Report{Backlog: look(1, 2), Rates: report.Rates{Published: 4}}},
		{At: now, Report: report.Report{}},
	}}
	got, known := o.Newest()
	require.True(t, known)
	require.InDelta(t, 2, got.Backlog.OldestEligibleAgeSeconds, 0)
	require.Equal(t, now.Add(-6*time.Second), got.At)
	require.EqualValues(t, 7, o.Rates().Published)
	require.Len(t, o.fresh(now.Add(9*time.Second), 10*time.Second).Answers, 2)
	_, known = Observation{}.Newest()
	require.False(t, known)
}

func TestAnIntervalUnderTheLeastIsRefused(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Interval: MinInterval - 1})
	require.EqualError(t, err, "poll interval 4.999999999s: the least is 5s")
	p, err := New(Options{Interval: 15 * time.Second})
	require.NoError(t, err)
	require.Equal(t, 45*time.Second, p.MaxSampleAge())
	for range 100 {
		require.LessOrEqual(t, p.jittered(), 15*time.Second)
		require.GreaterOrEqual(t, p.jittered(), 13*time.Second)
	}
}

var _ Reader = (*HTTPReader)(nil)
