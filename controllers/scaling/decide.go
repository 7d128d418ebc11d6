package scaling

import (
	"fmt"
	"time"
)

// Reason is a decision in one word; it is part of the API.
type Reason string

// The reasons, from the gates to the rule.
const (
	// SampleUnavailable: no relay has reported the backlog lately.
	SampleUnavailable Reason = "SampleUnavailable"
	// BrokerUnavailable: no relay can publish, so more of them cannot either.
	BrokerUnavailable Reason = "BrokerUnavailable"
	// DatabaseUnavailable: no relay can claim, so more of them cannot either.
	DatabaseUnavailable Reason = "DatabaseUnavailable"
	// RelaysNotReady: the relays of the last decision have not started yet.
	RelaysNotReady Reason = "RelaysNotReady"
	// Cooldown: the last change was too short ago.
	Cooldown Reason = "Cooldown"
	// HistoryIncomplete: too little has been seen yet to shrink.
	HistoryIncomplete Reason = "HistoryIncomplete"
	// Stabilizing: the age has not been over the target, or low, for long enough.
	Stabilizing Reason = "Stabilizing"
	// WithinTarget: the fleet has the right size.
	WithinTarget Reason = "WithinTarget"
	// BacklogOverTarget: the fleet grows, or would without a limit.
	BacklogOverTarget Reason = "BacklogOverTarget"
	// BacklogLow: the fleet shrinks, or would without a limit.
	BacklogLow Reason = "BacklogLow"
	// WithinBounds: the size was outside minimum and maximum, or there was none.
	WithinBounds Reason = "WithinBounds"
	// Suspended: no relay shall run.
	Suspended Reason = "Suspended"
	// Manual: the size is the user's.
	Manual Reason = "Manual"
)

// Limit is what keeps a decision from what was recommended.
type Limit string

const (
	// LimitMin is the policy's MinReplicas.
	LimitMin Limit = "MinReplicas"
	// LimitMax is the policy's MaxReplicas.
	LimitMax Limit = "MaxReplicas"
)

// Decision is how many relays there shall be, and why.
type Decision struct {
	// Desired is between MinReplicas and MaxReplicas.
	Desired int32
	// Recommended is what it would be without limits.
	Recommended int32
	// LimitedBy is empty when Desired is Recommended.
	LimitedBy Limit
	Reason    Reason
	// Message is one sentence with numbers.
	Message string
}

const (
	// lowPercent of the target is where the fleet counts as too large.
	lowPercent = 30
	// maxStepUp bounds a step up, which else doubles: how much another relay
	// helps is only known after it has run for a while.
	maxStepUp = 4
	// stepDownDivisor makes a step down a quarter of the fleet, at least one.
	stepDownDivisor = 4
)

// input is what the gates and the rule look at.
type input struct {
	now     time.Time
	policy  Policy
	sample  Sample
	history History
	current int32
}

// verdict is the answer of a gate or of the rule.
type verdict struct {
	recommended int32
	reason      Reason
	message     string
}

// Decide says how many relays there shall be. The history must have observed
// the sample (see Observe). A decision that differs from sample.Current is a
// change; the caller records when it was carried out.
func Decide(now time.Time, policy Policy, sample Sample, history History) Decision {
	in := input{now: now, policy: policy, sample: sample, history: history, current: sample.Current}
	if in.current <= 0 {
		in.current = policy.MinReplicas
	}
	// A size outside the bounds is the user's own wish to change it, which no
	// gate may hold up.
	if bounded := policy.clamp(in.current); bounded != sample.Current {
		return policy.limit(verdict{bounded, WithinBounds, fmt.Sprintf("from %d to %d relays: minimum %d, maximum %d",
			max(0, sample.Current), bounded, policy.MinReplicas, policy.MaxReplicas)})
	}
	for _, gate := range gates {
		if v, closed := gate(in); closed {
			return policy.limit(v)
		}
	}
	return policy.limit(bySize(in))
}

func (p Policy) clamp(n int32) int32 { return min(max(n, p.MinReplicas), p.MaxReplicas) }

func (p Policy) limit(v verdict) Decision {
	d := Decision{Desired: p.clamp(v.recommended), Recommended: v.recommended, Reason: v.reason, Message: v.message}
	switch {
	case d.Recommended > p.MaxReplicas:
		d.LimitedBy = LimitMax
		d.Message += fmt.Sprintf("; limited to the maximum of %d", p.MaxReplicas)
	case d.Recommended < p.MinReplicas:
		d.LimitedBy = LimitMin
		d.Message += fmt.Sprintf("; limited to the minimum of %d", p.MinReplicas)
	}
	return d
}

// bySize is the rule behind the gates.
func bySize(in input) verdict {
	age := in.age()
	switch {
	case in.over(Point{Age: age}):
		return grow(in)
	case in.low(Point{Age: age}):
		return shrink(in)
	default:
		return in.hold(WithinTarget, "oldest eligible row %s, target %s: %d relays are enough",
			seconds(age), seconds(in.policy.TargetBacklogAge), in.current)
	}
}

func grow(in input) verdict {
	held := max(0, in.history.heldFor(in.now, in.policy, in.over))
	if held < in.policy.ScaleUpWindow {
		return in.hold(Stabilizing, "oldest eligible row %s, over the target of %s for %s of %s: %d relays stay",
			seconds(in.age()), seconds(in.policy.TargetBacklogAge), seconds(held), seconds(in.policy.ScaleUpWindow), in.current)
	}
	if left := in.cooldownLeft(); left > 0 {
		return in.hold(Cooldown, "oldest eligible row %s, over the target of %s; the next change from %d relays waits %s",
			seconds(in.age()), seconds(in.policy.TargetBacklogAge), in.current, seconds(left))
	}
	wanted := in.current + min(in.current, maxStepUp)
	return verdict{wanted, BacklogOverTarget, fmt.Sprintf(
		"oldest eligible row %s, over the target of %s for %s: from %d to %d relays",
		seconds(in.age()), seconds(in.policy.TargetBacklogAge), seconds(held), in.current, wanted)}
}

func shrink(in input) verdict {
	if in.current <= in.policy.MinReplicas {
		return in.hold(WithinTarget, "oldest eligible row %s, target %s: the minimum is %d",
			seconds(in.age()), seconds(in.policy.TargetBacklogAge), in.current)
	}
	held := max(0, in.history.heldFor(in.now, in.policy, in.low))
	if held < in.policy.ScaleDownWindow {
		reason := Stabilizing
		if in.now.Sub(in.history.Since) < in.policy.ScaleDownWindow {
			reason = HistoryIncomplete
		}
		return in.hold(reason, "oldest eligible row %s, under %d %% of the target of %s for %s of %s: %d relays stay",
			seconds(in.age()), lowPercent, seconds(in.policy.TargetBacklogAge), seconds(held),
			seconds(in.policy.ScaleDownWindow), in.current)
	}
	if left := in.cooldownLeft(); left > 0 {
		return in.hold(Cooldown, "oldest eligible row %s, under %d %% of the target of %s; the next change from %d relays waits %s",
			seconds(in.age()), lowPercent, seconds(in.policy.TargetBacklogAge), in.current, seconds(left))
	}
	wanted := in.current - max(1, in.current/stepDownDivisor)
	return verdict{wanted, BacklogLow, fmt.Sprintf(
		"oldest eligible row %s, under %d %% of the target of %s for %s: from %d to %d relays",
		seconds(in.age()), lowPercent, seconds(in.policy.TargetBacklogAge), seconds(held), in.current, wanted)}
}

func (in input) age() time.Duration { return max(0, in.sample.Backlog.OldestEligibleAge) }

func (in input) over(p Point) bool { return p.Age > in.policy.TargetBacklogAge }

func (in input) low(p Point) bool { return p.Age*100 < in.policy.TargetBacklogAge*lowPercent }

func (in input) cooldownLeft() time.Duration {
	if in.history.LastScale.IsZero() {
		return 0
	}
	return in.policy.Cooldown - in.now.Sub(in.history.LastScale)
}

func (in input) hold(reason Reason, format string, args ...any) verdict {
	return verdict{in.current, reason, fmt.Sprintf(format, args...)}
}

// seconds writes whole seconds: finer ones would only make sentences differ.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%d s", int64(d.Round(time.Second)/time.Second))
}
