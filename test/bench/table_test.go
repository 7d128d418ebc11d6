package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPercentiles(t *testing.T) {
	require.Nil(t, percentilesOf(nil))
	var d []time.Duration
	for i := 100; i > 0; i-- {
		d = append(d, time.Duration(i)*time.Millisecond)
	}
	require.Equal(t, &percentiles{P50: 51, P90: 91, P99: 100, Max: 100}, percentilesOf(d))
	require.Equal(t, &percentiles{P50: 1, P90: 1, P99: 1, Max: 1}, percentilesOf(d[:1]))
}

func TestAResultIsPerSecondOfProcessorTime(t *testing.T) {
	r := newResult("x", 1000, 500, usage{relay: time.Second, database: 3 * time.Second})
	require.InEpsilon(t, 1000, r.Relay, 1e-9)
	require.InEpsilon(t, 333.33, r.Database, 1e-4)
	require.Zero(t, r.Broker)
	require.InEpsilon(t, 250, together(r), 1e-9)
	require.Zero(t, together(result{}))
}

func TestSeveralRunsGiveTheirMedians(t *testing.T) {
	m := medianOf([]result{
		{Name: "x", PerSecond: 1, Relay: 9, Latency: &percentiles{P50: 3}},
		{Name: "x", PerSecond: 7, Relay: 8, Latency: &percentiles{P50: 1}},
		{Name: "x", PerSecond: 5, Relay: 1, Latency: &percentiles{P50: 2}},
	})
	require.Equal(t, result{Name: "x", PerSecond: 5, Relay: 8, Latency: &percentiles{P50: 2}}, m)
}

func TestATableIsPrintedAndSaved(t *testing.T) {
	whole := table{
		Machine: machine{Date: "2026-01-01", Cores: 2},
		Results: []result{{Name: "relay", PerSecond: 41234.4, Latency: &percentiles{P50: 4.25}}},
		Claims:  []claimed{{Circumstance: "10000 SENT rows", Claims: 400, Claim: &percentiles{P50: 5}}},
		Notes:   []string{"Left out: nobody."},
	}
	var text strings.Builder
	require.NoError(t, whole.print(&text))
	for _, part := range []string{"2 cores", "41234", "4.2", "10000 SENT rows", "5.0", "Left out"} {
		require.Contains(t, text.String(), part)
	}
	file := filepath.Join(t.TempDir(), "table.json")
	require.NoError(t, whole.save(file))
	saved, err := os.ReadFile(file)
	require.NoError(t, err)
	var back table
	require.NoError(t, json.Unmarshal(saved, &back))
	require.Equal(t, whole, back)
}
