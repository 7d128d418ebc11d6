package main

import "time"

// result is what was measured of one thing. A figure that is 0 was not measured.
type result struct {
	Name      string  `json:"name"`
	PerSecond float64 `json:"eventsPerSecond"`
	// The next three are events per second of processor time.
	Relay    float64 `json:"eventsPerRelayCPUSecond"`
	Database float64 `json:"eventsPerDatabaseCPUSecond"`
	Broker   float64 `json:"eventsPerBrokerCPUSecond"`
	// ResidentMB is the most memory that the relay has had.
	ResidentMB float64 `json:"residentMB"`
	// Latency is from the commit to the consumer; nil: not measured.
	Latency *percentiles `json:"latencyMilliseconds,omitempty"`
}

func newResult(name string, events int, perSecond float64, used usage) result {
	per := func(d time.Duration) float64 {
		if d <= 0 {
			return 0
		}
		return float64(events) / d.Seconds()
	}
	return result{Name: name, PerSecond: perSecond, Relay: per(used.relay), Database: per(used.database), Broker: per(used.broker)}
}

// medianOf is, figure by figure, the median of several runs.
func medianOf(runs []result) result {
	figure := func(of func(result) float64) float64 {
		values := make([]float64, len(runs))
		for i, r := range runs {
			values[i] = of(r)
		}
		return median(values)
	}
	m := result{
		Name:       runs[0].Name,
		PerSecond:  figure(func(r result) float64 { return r.PerSecond }),
		Relay:      figure(func(r result) float64 { return r.Relay }),
		Database:   figure(func(r result) float64 { return r.Database }),
		Broker:     figure(func(r result) float64 { return r.Broker }),
		ResidentMB: figure(func(r result) float64 { return r.ResidentMB }),
	}
	if runs[0].Latency != nil {
		m.Latency = &percentiles{
			P50: figure(func(r result) float64 { return r.Latency.P50 }),
			P90: figure(func(r result) float64 { return r.Latency.P90 }),
			P99: figure(func(r result) float64 { return r.Latency.P99 }),
			Max: figure(func(r result) float64 { return r.Latency.Max }),
		}
	}
	return m
}
