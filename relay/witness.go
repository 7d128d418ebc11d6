package relay

import (
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

// witness remembers what tells an outage from a record that the broker never
// answers (I10).
type witness struct {
	mu sync.Mutex
	// published is when any slot last published something.
	published time.Time
	// silent are the events of the last batch without an answer, until something
	// is published.
	silent map[string]bool
}

func (w *witness) sawPublished() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.published, w.silent = time.Now(), nil
}

// sawSilence notes that there was no answer for b. It returns when something was
// last published, and whether entirely other events have had no answer since.
func (w *witness) sawSilence(b event.Batch) (published time.Time, othersToo bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	othersToo = w.silent != nil
	now := make(map[string]bool, len(b.Events))
	for i := range b.Events {
		now[b.Events[i].ID] = true
		othersToo = othersToo && !w.silent[b.Events[i].ID]
	}
	w.silent = now
	return w.published, othersToo
}
