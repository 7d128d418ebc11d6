package relay

import (
	"context"
	"sync"

	"github.com/relayfleet/relayfleet/relay/event"
)

// witness remembers what tells an outage from a record that the broker never
// answers (I10). That another slot has published meanwhile does not: the broker
// may have gone away right after it, or only the leaders of other partitions.
type witness struct {
	mu sync.Mutex
	// silent are the events of the last batch without an answer, until something
	// is published.
	silent map[string]bool
}

func (w *witness) sawPublished() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = nil
}

// sawSilence notes that there was no answer for b. It returns whether entirely
// other events have had none either, and nothing was published since.
func (w *witness) sawSilence(b event.Batch) (othersToo bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	othersToo = w.silent != nil
	now := make(map[string]bool, len(b.Events))
	for i := range b.Events {
		now[b.Events[i].ID] = true
		othersToo = othersToo && !w.silent[b.Events[i].ID]
	}
	w.silent = now
	return othersToo
}

// brokerIsWell asks for a second witness of an outage when there was no answer for
// a batch. Other events without an answer are one, except against suspects, which
// are alone because they may all be as bad. Else the broker's check decides, in
// the time that the settle does not need.
func (r *Relay) brokerIsWell(work context.Context, t *tenure) bool {
	if r.witness.sawSilence(t.batch) && !t.suspects {
		return false
	}
	ctx, cancel := context.WithDeadline(work, t.ends().Add(-minMargin))
	defer cancel()
	return runCheck(ctx, r.config.CheckBroker) == nil
}
