package report

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheLargestReportFits(t *testing.T) {
	long := strings.Repeat("x", 253)
	slots := []string{}
	for range 20 {
		slots = append(slots, "nextAttemptAt")
	}
	worst := Health{Code: ColumnsMissing, Slots: slots, ForSeconds: 1 << 40}
	big := int64(1) << 40
	slow := &Latency{P50: big, P99: big, Max: big}
	data, err := Encode(Report{
		Version: Version, Namespace: long, Resource: long, Pod: long, Settings: long, Build: long, State: Stopping,
		Database: worst, Schema: worst, Broker: worst, Limits: []string{"attempts", "failed", "age", "token"},
		Findings: FindingCodes()[:MaxFindings], Partitions: big, Notifications: NotAnnounced,
		Backlog: &Backlog{
			AgeSeconds: 1 / 3.0, OldestEligibleAgeSeconds: 1e7 / 3.0, OldestUnsentAgeSeconds: 1e7 / 3.0, SampledAt: time.Now(),
			Eligible: big, InFlight: big, ExpiredLeases: big, Failed: big, Cap: big, ArrivalsPerMinute: new(1e7 / 3.0),
		},
		Rates: Rates{
			Published: big, Retried: big, Failed: big, Released: big, Reclaimed: big, Stale: big, Overtaken: big,
			AlreadyMine: big, Abandoned: big, Suspected: big, Batches: big, FullBatches: big, Hinted: big,
		},
		Latencies: Latencies{ClaimMillis: slow, SendMillis: slow, SettleMillis: slow},
	})
	require.NoError(t, err)
	require.LessOrEqual(t, len(data), MaxBytes)
}

func TestAbsentIsNotZero(t *testing.T) {
	data, err := Encode(Report{Version: Version, State: Waiting})
	require.NoError(t, err)
	r, err := Decode(data)
	require.NoError(t, err)
	require.Nil(t, r.Backlog)
}

func TestDecodeTakesNothingElse(t *testing.T) {
	for name, data := range map[string]string{
		"another version": `{"version":2}`,
		"no JSON":         `<html>`,
		"nothing":         ``,
		"too much":        `{"version":1,"build":"` + strings.Repeat("x", MaxBytes) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(data))
			require.Error(t, err)
		})
	}
}

func TestHandler(t *testing.T) {
	ready, live := false, true
	handler := Handler(func() Report { return Report{Version: Version, State: Running} }, func() bool { return ready }, func() bool { return live })
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	require.Equal(t, http.StatusOK, get("/livez").Code, "alive before it is ready")
	require.Equal(t, http.StatusServiceUnavailable, get("/readyz").Code)
	ready = true
	require.Equal(t, http.StatusOK, get("/readyz").Code)
	live = false
	require.Equal(t, http.StatusServiceUnavailable, get("/livez").Code)
	r, err := Decode(get(Path).Body.Bytes())
	require.NoError(t, err)
	require.Equal(t, Running, r.State)
	require.Equal(t, http.StatusNotFound, get("/").Code)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"backlog":{"eligible":-1}}`))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Decode(data) })
}
