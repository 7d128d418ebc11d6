package relay

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	firstProbeWait = 100 * time.Millisecond
	maxProbeWait   = 5 * time.Second
	// probeTimeout bounds one check, so that a silent peer is asked again.
	probeTimeout = 10 * time.Second
)

// gate says whether one subject can be used. It begins closed. Anybody who meets
// a failure closes it; only its keeper opens it, after a check that passed.
type gate struct {
	subject Subject
	events  Events

	mu struct {
		sync.Mutex
		// changed is closed, and replaced, whenever open changes.
		changed chan struct{}
		open    bool
		since   time.Time
		problem error
		// told is what listeners know of problem: only news is told, not every
		// check that fails.
		told finding
		// failures counts closings since the subject last did real work, so
		// that one which passes its check but fails at work is not tried hotly.
		failures int
	}
}

func newGate(s Subject, events Events) *gate {
	g := &gate{subject: s, events: events}
	g.mu.changed = make(chan struct{})
	g.mu.since = time.Now()
	return g
}

// fail closes the gate because of err, or keeps it closed and remembers err.
func (g *gate) fail(err error) {
	found := findingOf(g.subject, err)
	g.mu.Lock()
	wasOpen, news := g.mu.open, !found.equals(g.mu.told)
	g.mu.problem, g.mu.told = err, found
	if wasOpen {
		g.mu.failures++
		g.setOpen(false)
	}
	g.mu.Unlock()
	if wasOpen || news {
		g.events.Paused(g.subject, err)
	}
}

// pass opens the gate.
func (g *gate) pass() {
	g.mu.Lock()
	wasOpen, paused := g.mu.open, time.Since(g.mu.since)
	if !wasOpen {
		g.mu.problem, g.mu.told = nil, finding{}
		g.setOpen(true)
	}
	g.mu.Unlock()
	if !wasOpen {
		g.events.Resumed(g.subject, paused)
	}
}

func (g *gate) setOpen(open bool) {
	g.mu.open = open
	g.mu.since = time.Now()
	close(g.mu.changed)
	g.mu.changed = make(chan struct{})
}

// worked notes that the subject did real work.
func (g *gate) worked() {
	g.mu.Lock()
	g.mu.failures = 0
	g.mu.Unlock()
}

// state returns whether the gate is open, and else why not; err is nil while
// nothing is known yet.
func (g *gate) state() (open bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.open, g.mu.problem
}

func (g *gate) isOpen() bool {
	open, _ := g.state()
	return open
}

// wait returns nil when the gate is open (or closed, for open false), and an
// error when ctx has ended.
func (g *gate) wait(ctx context.Context, open bool) error {
	for ctx.Err() == nil {
		g.mu.Lock()
		is, changed := g.mu.open, g.mu.changed
		g.mu.Unlock()
		if is == open {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// keep checks the subject whenever its gate is closed, until ctx ends.
func (g *gate) keep(ctx context.Context, check Check) {
	for g.wait(ctx, false) == nil {
		g.mu.Lock()
		wait := probeWait(g.mu.failures)
		g.mu.Unlock()
		for !g.isOpen() && sleep(ctx, wait) == nil {
			err := runCheck(ctx, check)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				g.fail(err)
				wait = nextProbeWait(wait)
			default:
				g.pass()
			}
		}
	}
}

func runCheck(ctx context.Context, check Check) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return check(ctx)
}

// probeWait is the wait before the first check of a pause that came after so
// many failures in a row: none for the first.
func probeWait(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	wait := firstProbeWait
	for range min(failures-1, 10) {
		wait = nextProbeWait(wait)
	}
	return wait
}

func nextProbeWait(wait time.Duration) time.Duration {
	return min(max(2*wait, firstProbeWait), maxProbeWait)
}

// sleep waits for d, give or take a tenth, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(jittered(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// jittered is d, give or take a tenth.
func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64())) //nolint:gosec // Jitter needs no secrecy.
}
