package backlog

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/relayfleet/relayfleet/relay/report"
)

// Observation is what the relays of one resource have said lately.
type Observation struct {
	// At is when they were asked last; zero is never.
	At time.Time
	// Running is how many of them were running then.
	Running int
	// Failure is why one of them has not answered then: one of this package's
	// errors, or nil.
	Failure error
	// Answers are those of the pods that are still there, each the newest of
	// its pod, none older than three intervals. Never changed after it is made.
	Answers []Answer
}

// Answer is one relay's report.
type Answer struct {
	Pod types.UID
	// At is when it came, by the operator's clock.
	At     time.Time
	Report report.Report
}

// Look is one look at the table.
type Look struct {
	// At is when it was taken, by the operator's clock: the relays' and the
	// database's are not believed.
	At      time.Time
	Backlog report.Backlog
}

// Newest is the newest look at the table of any relay.
func (o Observation) Newest() (look Look, known bool) {
	for _, a := range o.Answers {
		if a.Report.Backlog == nil {
			continue
		}
		at := a.At.Add(-time.Duration(a.Report.Backlog.AgeSeconds * float64(time.Second)))
		if !known || at.After(look.At) {
			look, known = Look{At: at, Backlog: *a.Report.Backlog}, true
		}
	}
	return look, known
}

// Limits are what any relay says that the table cannot record, sorted.
func (o Observation) Limits() []string {
	var limits []string
	for _, a := range o.Answers {
		limits = append(limits, a.Report.Limits...)
	}
	slices.Sort(limits)
	return slices.Compact(limits)
}

// Findings are what any relay has found at the table, the gravest first.
func (o Observation) Findings() []report.Code {
	var found []report.Code
	for _, code := range report.FindingCodes() {
		if slices.ContainsFunc(o.Answers, func(a Answer) bool { return slices.Contains(a.Report.Findings, code) }) {
			found = append(found, code)
		}
	}
	return found
}

// Partitions is how many partitions the topic has that the relays with these
// settings publish to; 0 is unknown. Of several answers the largest counts: the
// number only grows, and not every relay has noticed yet.
func (o Observation) Partitions(settings string) int64 {
	var most int64
	for _, a := range o.Answers {
		if a.Report.Settings == settings {
			most = max(most, a.Report.Partitions)
		}
	}
	return most
}

// Rates are those of all relays together.
func (o Observation) Rates() report.Rates {
	var sum report.Rates
	for _, a := range o.Answers {
		sum = sum.Add(a.Report.Rates)
	}
	return sum
}

// fresh is o without what is older than limit at the moment now.
func (o Observation) fresh(now time.Time, limit time.Duration) Observation {
	var answers []Answer
	for _, a := range o.Answers {
		if now.Sub(a.At) <= limit {
			answers = append(answers, a)
		}
	}
	o.Answers = answers
	return o
}
