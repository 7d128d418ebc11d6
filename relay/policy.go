package relay

import (
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

// RetryPolicy bounds what is tried again after a refusal of the record itself.
type RetryPolicy struct {
	// MaxAttempts and MaxAge must both be used up before an event is FAILED.
	MaxAttempts int
	MaxAge      time.Duration
	// Backoff is the wait after the first refusal; it doubles up to MaxBackoff.
	Backoff, MaxBackoff time.Duration
}

// plan says what is to be recorded of a batch: settlements, one per event, and
// the indexes of events to give back.
type plan struct {
	settlements []event.Settlement
	unsent      []int
	unanswered  []int
}

// mayBePublished is why a lone event is given up on which the broker goes silent
// although it answers for everything else.
const mayBePublished = "the broker gave no answer for this event, which was sent alone, and answers for others; it may have been published"

// plan decides for every event of b by its outcome. suspected says that the
// broker is well although some outcomes are unknown: then those stay charged, so
// that the culprit is isolated. spread is in [0, 1) and keeps the events of one
// refused batch from coming back all at once.
func (p RetryPolicy) plan(a event.Abilities, b event.Batch, outcomes []event.Outcome, suspected bool, spread func() float64) plan {
	result := plan{settlements: make([]event.Settlement, len(b.Events))}
	for i := range b.Events {
		e := b.Events[i]
		switch outcomes[i].Kind {
		case event.Published:
			result.settlements[i] = event.Settlement{Action: event.Sent}
		case event.Refused:
			result.settlements[i] = p.afterRefusal(a, e, outcomes[i].Reason, spread())
		case event.Rejected:
			result.settlements[i] = p.afterRejection(a, outcomes[i].Reason)
		case event.Unsent:
			result.unsent = append(result.unsent, i)
		case event.Unknown:
			switch {
			case !suspected:
				result.unanswered = append(result.unanswered, i)
			case b.Lone && a.Failed && a.Attempts && e.Attempts >= p.MaxAttempts:
				result.settlements[i] = event.Settlement{Action: event.Fail, Reason: mayBePublished}
			}
		}
	}
	return result
}

// afterRefusal is FAILED when attempts and age are both used up, else a retry.
// What the table does not count is never used up; without an age attempts decide.
func (p RetryPolicy) afterRefusal(a event.Abilities, e event.Event, reason string, spread float64) event.Settlement {
	usedUp := a.Attempts && e.Attempts >= p.MaxAttempts && (!a.Age || e.Age >= p.MaxAge)
	if usedUp && a.Failed {
		return event.Settlement{Action: event.Fail, Reason: reason}
	}
	return event.Settlement{Action: event.Retry, Delay: p.delay(e.Attempts, spread), Reason: reason}
}

// afterRejection is FAILED at once, where the table can say so.
func (p RetryPolicy) afterRejection(a event.Abilities, reason string) event.Settlement {
	if a.Failed {
		return event.Settlement{Action: event.Fail, Reason: reason}
	}
	return event.Settlement{Action: event.Retry, Delay: p.MaxBackoff, Reason: reason}
}

// delay is Backoff after the first attempt, then doubles up to MaxBackoff; up to
// a tenth of it is taken off again by spread.
func (p RetryPolicy) delay(attempts int, spread float64) time.Duration {
	d := p.Backoff
	for n := 1; n < attempts && d < p.MaxBackoff; n++ {
		d *= 2
	}
	d = min(d, p.MaxBackoff)
	return d - time.Duration(float64(d)/10*spread)
}

const (
	minMargin = time.Second
	maxMargin = 5 * time.Second
)

// deadline is when b's sending must have ended: a fifth of the lease, 1 s to
// 5 s, is kept for the settle.
func deadline(b event.Batch) time.Time {
	return b.Started.Add(b.Lease - margin(b.Lease))
}

func margin(lease time.Duration) time.Duration { return min(max(lease/5, minMargin), maxMargin) }

// leaseEnd is when the claim of b ends, at the latest, by the local clock.
func leaseEnd(b event.Batch) time.Time { return b.Started.Add(b.Lease) }
