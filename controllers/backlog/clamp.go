package backlog

import (
	"math"
	"regexp"
	"slices"

	"github.com/relayfleet/relayfleet/relay/report"
)

const (
	maxAgeSeconds = 10 * 365 * 24 * 3600
	maxCount      = 1_000_000_000
	maxSlots      = 16
	maxPartitions = 1_000_000
)

// slotName is what the name of a mapping slot may look like. A report is not
// trusted, and slots are the only words of it that enter a status.
var slotName = regexp.MustCompile(`^[a-z][a-zA-Z0-9_]{0,62}$`)

// clamp makes of a report what may be believed: known codes, numbers in bounds.
func clamp(r report.Report) report.Report {
	r.Database, r.Schema, r.Broker = clampHealth(r.Database), clampHealth(r.Schema), clampHealth(r.Broker)
	r.Rates = clampRates(r.Rates)
	r.Limits = clampLimits(r.Limits)
	r.Findings = clampFindings(r.Findings)
	r.Partitions = min(max(0, r.Partitions), maxPartitions)
	if !slices.Contains([]report.Code{report.OK, report.NotHeard, report.NotAnnounced}, r.Notifications) {
		r.Notifications = ""
	}
	r.Latencies = report.Latencies{}
	if r.Backlog != nil {
		r.Backlog = clampBacklog(*r.Backlog)
	}
	return r
}

func clampHealth(h report.Health) report.Health {
	if !slices.Contains(report.Codes(), h.Code) {
		h.Code = report.Unchecked
	}
	var slots []string
	for _, slot := range h.Slots {
		if slotName.MatchString(slot) && len(slots) < maxSlots && !slices.Contains(slots, slot) {
			slots = append(slots, slot)
		}
	}
	// Sorted, so that two relays that mean the same say the same.
	slices.Sort(slots)
	return report.Health{Code: h.Code, Slots: slots, ForSeconds: min(max(0, h.ForSeconds), maxAgeSeconds)}
}

// clampBacklog returns nil for a look whose ages are no numbers.
func clampBacklog(b report.Backlog) *report.Backlog {
	for _, age := range []*float64{&b.AgeSeconds, &b.OldestEligibleAgeSeconds, &b.OldestUnsentAgeSeconds} {
		if math.IsNaN(*age) || math.IsInf(*age, 0) {
			return nil
		}
		*age = min(max(0, *age), maxAgeSeconds)
	}
	b.ArrivalsPerMinute = clampArrivals(b.ArrivalsPerMinute)
	for _, n := range []*int64{&b.Eligible, &b.InFlight, &b.ExpiredLeases, &b.Failed, &b.Cap} {
		*n = clampCount(*n)
	}
	return &b
}

// clampArrivals returns nil, which is unknown, for what is no number.
func clampArrivals(n *float64) *float64 {
	if n == nil || math.IsNaN(*n) || math.IsInf(*n, 0) {
		return nil
	}
	return new(min(max(0, *n), maxCount))
}

// clampLimits keeps the words that there are.
func clampLimits(limits []string) []string {
	var known []string
	for _, limit := range []string{report.LimitAge, report.LimitAttempts, report.LimitFailed, report.LimitToken} {
		if slices.Contains(limits, limit) {
			known = append(known, limit)
		}
	}
	return known
}

// clampFindings keeps the codes that there are.
func clampFindings(codes []report.Code) []report.Code {
	var known []report.Code
	for _, code := range report.FindingCodes() {
		if slices.Contains(codes, code) {
			known = append(known, code)
		}
	}
	return known
}

func clampRates(r report.Rates) report.Rates {
	for _, n := range []*int64{
		&r.Published, &r.Retried, &r.Failed, &r.Released, &r.Reclaimed, &r.Stale, &r.Batches, &r.FullBatches, &r.Hinted,
		&r.Overtaken, &r.AlreadyMine, &r.Abandoned, &r.Suspected,
	} {
		*n = clampCount(*n)
	}
	return r
}

func clampCount(n int64) int64 { return min(max(0, n), maxCount) }
