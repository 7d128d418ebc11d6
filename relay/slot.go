package relay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

// published is a batch with its outcomes, on its way from a slot to its settler.
type published struct {
	*tenure
	outcomes []event.Outcome
	// suspected: some outcomes are unknown although the broker is well, so that
	// one of the records may be the cause.
	suspected bool
}

// publish is a slot: it sends one claimed batch after another and passes each on
// to its settler. work ends when the grace after a stop has passed.
func (r *Relay) publish(work context.Context, p Publisher, sending *step, done chan<- published) {
	defer close(done)
	for t := range r.claimed {
		sent := published{tenure: t, outcomes: allUnsent(t.batch)}
		// A batch that arrives while the broker is out of reach would only lose time.
		if r.broker.isOpen() {
			sending.begin(t.batch.Started.Add(max(r.config.MaxClaim, t.batch.Lease)))
			sent = r.publishOnce(work, p, t)
			sending.end()
		}
		r.flight.forget(t.batch)
		done <- sent
	}
}

// publishOnce returns one outcome per event.
func (r *Relay) publishOnce(work context.Context, p Publisher, t *tenure) published {
	b, begin := t.batch, time.Now()
	outcomes, err := p.Publish(work, b, t.deadline)
	if len(outcomes) != len(b.Events) {
		err = fmt.Errorf("publish: %d outcomes for %d events: %w", len(outcomes), len(b.Events), err)
		outcomes = make([]event.Outcome, len(b.Events))
	}
	r.events.Published(b, outcomes, time.Since(begin), err)
	sent := published{tenure: t, outcomes: outcomes}
	switch {
	case err == nil:
		r.broker.worked()
		if hasKind(outcomes, event.Published) {
			r.witness.sawPublished()
		}
	case work.Err() != nil || t.lost.Load():
		// The relay ended it itself.
	case hasKind(outcomes, event.Unknown) && r.brokerIsWell(work, t):
		sent.suspected = true
		r.events.Suspected(b, err)
	default:
		r.broker.fail(err)
	}
	return sent
}

func hasKind(outcomes []event.Outcome, kind event.OutcomeKind) bool {
	return slices.ContainsFunc(outcomes, func(o event.Outcome) bool { return o.Kind == kind })
}

func allUnsent(b event.Batch) []event.Outcome {
	outcomes := make([]event.Outcome, len(b.Events))
	for i := range outcomes {
		outcomes[i].Kind = event.Unsent
	}
	return outcomes
}
