package event

import (
	"context"
	"sync"
	"time"
)

// Deadline is when the sending of a batch must have ended. It can move: a renewed
// claim extends it, a lost one ends it. Its methods may be called at any time.
type Deadline struct {
	mu      sync.Mutex
	at      time.Time
	cut     bool
	changed chan struct{}
}

// NewDeadline is a deadline at t.
func NewDeadline(t time.Time) *Deadline { return &Deadline{at: t, changed: make(chan struct{})} }

// Extend moves the deadline to t. One that has passed stays passed.
func (d *Deadline) Extend(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.passed() {
		d.at = t
		d.tell()
	}
}

// Cut makes the deadline pass now.
func (d *Deadline) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.cut {
		d.cut = true
		d.tell()
	}
}

func (d *Deadline) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// Time is when the deadline passes, unless it is moved.
func (d *Deadline) Time() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

// Passed says whether the deadline is over by the monotonic or by the wall
// clock: the first stands still while the machine is suspended, the second may
// be set back.
func (d *Deadline) Passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed()
}

func (d *Deadline) passed() bool {
	now := time.Now()
	return d.cut || !now.Before(d.at) || !now.Round(0).Before(d.at.Round(0))
}

// Context ends when the deadline passes, with the cause
// context.DeadlineExceeded, or with ctx. Its cancel function must be called.
func (d *Deadline) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithCancelCause(ctx)
	go d.watch(bounded, cancel)
	return bounded, func() { cancel(context.Canceled) }
}

func (d *Deadline) watch(ctx context.Context, end context.CancelCauseFunc) {
	for {
		d.mu.Lock()
		wait, passed, changed := time.Until(d.at), d.passed(), d.changed
		d.mu.Unlock()
		if passed {
			end(context.DeadlineExceeded)
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}
