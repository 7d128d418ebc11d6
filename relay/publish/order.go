package publish

import (
	"slices"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Order of a key's events within a topic: one that is not published holds back
// the later ones of its key in the same batch. They stay Unsent, so that they are
// given back, and are claimed again behind it.
//
// Between batches the store sees to it: a key's events are in one batch at a time.
// Within a partition chunks go one after another, and what follows a chunk without
// a clear answer is never sent.

// Whether a FAILED event lets later ones pass is for the store to say, once it is
// recorded: until then the event may yet be tried again.

// holds tells whether an outcome holds back later events of its key.
func (c Config) holds(o event.Outcome) bool {
	switch o.Kind {
	case event.Refused, event.Unknown, event.Rejected:
		return c.Ordered
	case event.Published, event.Unsent:
	}
	return false
}

// holdBack takes events out of the queues that others hold back.
func (d *delivery) holdBack() {
	if !d.config.Ordered {
		return
	}
	first := map[string]int{} // by key, the first event that holds others back
	for i := range d.events {
		if key := d.events[i].Key; key != nil && d.config.holds(d.outcomes[i]) {
			if _, known := first[string(key)]; !known {
				first[string(key)] = i
			}
		}
	}
	if len(first) == 0 {
		return
	}
	isHeld := func(i int) bool {
		holder, held := first[string(d.events[i].Key)]
		return held && d.events[i].Key != nil && holder < i
	}
	for _, q := range d.queues {
		q.chunks = d.without(q.chunks, isHeld)
	}
}

// without makes chunks anew that have events which are held back. One that may
// have been appended keeps what it has: the broker knows it by that.
func (d *delivery) without(chunks []*chunk, isHeld func(int) bool) []*chunk {
	var kept []*chunk
	for _, c := range chunks {
		if c.maybe || !slices.ContainsFunc(c.events, isHeld) {
			kept = append(kept, c)
			continue
		}
		if events := slices.DeleteFunc(slices.Clone(c.events), isHeld); len(events) > 0 {
			kept = append(kept, d.rechunk(events))
		}
	}
	return kept
}
