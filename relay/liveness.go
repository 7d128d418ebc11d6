package relay

import (
	"sync/atomic"
	"time"
)

// stuckAfter is how long after its own bound something is taken to be stuck.
const stuckAfter = 30 * time.Second

// step is something that a goroutine of the pipeline does within a bound. It is
// idle while it waits for work.
type step struct {
	// bound is when it must have ended; nil: idle. It keeps the monotonic reading:
	// a wall clock that is set makes nothing stuck.
	bound atomic.Pointer[time.Time]
}

func (s *step) begin(bound time.Time) { s.bound.Store(&bound) }

func (s *step) end() { s.bound.Store(nil) }

func (s *step) isStuck() bool {
	bound := s.bound.Load()
	return bound != nil && time.Since(*bound) > stuckAfter
}

// Live says whether the pipeline moves. Everything that it does has a bound, so
// something that is far beyond it will not end by itself. An outage is no reason:
// whoever waits for it is idle.
func (r *Relay) Live() bool {
	for _, s := range r.steps {
		if s.isStuck() {
			return false
		}
	}
	return true
}

func (r *Relay) newStep() *step {
	s := &step{}
	r.steps = append(r.steps, s)
	return s
}
