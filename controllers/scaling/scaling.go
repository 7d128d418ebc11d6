// Package scaling decides how many relays there shall be. It is pure: no clock,
// no I/O, no Kubernetes; the same input gives the same decision.
//
// The age of the oldest eligible row is the gate: it says whether the fleet is
// too small. What is unknown holds the size, and so does anything that more
// relays cannot mend: a broker or a database that is out of reach, relays that
// have not started yet.
package scaling

import (
	"slices"
	"time"
)

// Policy is what the user wants, with defaults filled in.
type Policy struct {
	// MinReplicas and MaxReplicas bound every decision. MinReplicas is at
	// least 1 and at most MaxReplicas.
	MinReplicas, MaxReplicas int32
	// TargetBacklogAge is the age above which the fleet is too small.
	TargetBacklogAge time.Duration
	// ScaleUpWindow is how long the age must have been above the target.
	ScaleUpWindow time.Duration
	// ScaleDownWindow is how long the age must have been low.
	ScaleDownWindow time.Duration
	// Cooldown is the least time between two changes, in either direction.
	Cooldown time.Duration
	// MaxSampleAge is the age at which a sample is no longer believed, and the
	// greatest gap between two samples of one window: three polls.
	MaxSampleAge time.Duration
}

// Availability says whether something that the relays need can be used.
type Availability int

const (
	// Unknown: no relay has said. It closes no gate.
	Unknown Availability = iota
	// Available: at least one relay can use it.
	Available
	// Unavailable: no relay can, and at least one has tried.
	Unavailable
)

// Sample is what is known now.
type Sample struct {
	// Current is how many relays were decided last; 0 when nothing was.
	Current int32
	// Ready is how many relays are ready; nil when that is unknown.
	Ready *int32
	// Backlog is the newest look at the table; nil when there was none.
	Backlog *Backlog
	// Broker and Database are what the relays say of them.
	Broker, Database Availability
}

// Backlog is one look at the table.
type Backlog struct {
	// At is when it was taken.
	At time.Time
	// OldestEligibleAge is how long the oldest row that could be claimed has
	// been due. Negative counts as 0.
	OldestEligibleAge time.Duration
	// Eligible is how many rows could be claimed; Capped means "or more".
	Eligible int64
	Capped   bool
	// PublishedPerMinute is what all relays together published; nil is unknown.
	PublishedPerMinute *int64
}

// History is what is remembered between decisions. It is a value: Observe
// returns another one and leaves its input alone.
type History struct {
	// Since is when the memory begins: the start of the operator, the end of a
	// gate. Nothing is known of the time before it.
	Since time.Time
	// LastScale is when the number of relays last changed; zero is never.
	LastScale time.Time
	// Points are the ages seen, oldest first, over the longer window.
	Points []Point
}

// Point is the age that was seen at one moment.
type Point struct {
	At  time.Time
	Age time.Duration
}

// Observe adds the sample to the history and forgets what no window needs any
// more. While broker or database are out of reach the age says nothing about
// the size of the fleet, so the windows begin anew after it.
func Observe(now time.Time, policy Policy, sample Sample, history History) History {
	next := History{Since: history.Since, LastScale: history.LastScale}
	if next.Since.IsZero() || sample.Broker == Unavailable || sample.Database == Unavailable {
		next.Since = now
		history.Points = nil
	}
	keep := max(policy.ScaleUpWindow, policy.ScaleDownWindow) + policy.MaxSampleAge
	first := slices.IndexFunc(history.Points, func(p Point) bool { return now.Sub(p.At) <= keep })
	if first >= 0 {
		next.Points = slices.Clone(history.Points[first:])
	}
	if isNews(now, policy, sample, next) {
		next.Points = append(next.Points, Point{At: sample.Backlog.At, Age: max(0, sample.Backlog.OldestEligibleAge)})
	}
	return next
}

func isNews(now time.Time, policy Policy, sample Sample, history History) bool {
	if !sample.fresh(now, policy) || sample.Backlog.At.Before(history.Since) {
		return false
	}
	n := len(history.Points)
	return n == 0 || sample.Backlog.At.After(history.Points[n-1].At)
}

func (s Sample) fresh(now time.Time, policy Policy) bool {
	return s.Backlog != nil && now.Sub(s.Backlog.At) <= policy.MaxSampleAge
}

// heldFor is how long the newest points have met the condition without a gap;
// negative when the newest one does not.
func (h History) heldFor(now time.Time, policy Policy, condition func(Point) bool) time.Duration {
	since, later := now, now
	held := false
	for _, p := range slices.Backward(h.Points) {
		if !condition(p) || later.Sub(p.At) > policy.MaxSampleAge {
			break
		}
		since, later, held = p.At, p.At, true
	}
	if !held {
		return -1
	}
	return now.Sub(since)
}
