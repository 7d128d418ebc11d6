package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

// published is a batch with its outcomes, on its way from a slot to its settler.
type published struct {
	batch    event.Batch
	outcomes []event.Outcome
}

// publish is a slot: it sends one claimed batch after another and passes each on
// to its settler. work ends when the grace after a stop has passed.
func (r *Relay) publish(work context.Context, p Publisher, done chan<- published) {
	defer close(done)
	for b := range r.claimed {
		done <- published{b, r.publishOnce(work, p, b)}
	}
}

// publishOnce returns one outcome per event. A batch that arrives while the
// broker is out of reach is not tried: it would only lose time.
func (r *Relay) publishOnce(work context.Context, p Publisher, b event.Batch) []event.Outcome {
	if !r.broker.isOpen() {
		return allUnsent(b)
	}
	begin := time.Now()
	outcomes, err := p.Publish(work, b, event.NewDeadline(deadline(b)))
	if len(outcomes) != len(b.Events) {
		err = fmt.Errorf("publish: %d outcomes for %d events: %w", len(outcomes), len(b.Events), err)
		outcomes = make([]event.Outcome, len(b.Events))
	}
	r.events.Published(b, outcomes, time.Since(begin), err)
	if err != nil && work.Err() == nil {
		r.broker.fail(err)
	} else if err == nil {
		r.broker.worked()
	}
	return outcomes
}

func allUnsent(b event.Batch) []event.Outcome {
	outcomes := make([]event.Outcome, len(b.Events))
	for i := range outcomes {
		outcomes[i].Kind = event.Unsent
	}
	return outcomes
}
