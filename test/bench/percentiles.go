package main

import (
	"slices"
	"time"
)

// percentiles are those of some durations, in milliseconds.
type percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// percentilesOf sorts durations; nil for none.
func percentilesOf(durations []time.Duration) *percentiles {
	if len(durations) == 0 {
		return nil
	}
	slices.Sort(durations)
	at := func(share float64) float64 {
		return milliseconds(durations[min(int(share*float64(len(durations))), len(durations)-1)])
	}
	return &percentiles{P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: at(1)}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// median is the middle of values, the upper one of two.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
