package rows

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// reach is how far below the oldest row of the last claim a claim looks.
type reach int

const (
	// near passes over what an ordinary writer's row is never behind.
	near reach = iota
	// far also sees the rows of writers that took their time, or whose clock is
	// behind, and what others had locked.
	far
	// everywhere has no lower end.
	everywhere
)

const (
	nearSlack = 100 * time.Millisecond
	farSlack  = 5 * time.Second
	// farShare bounds the time that far looks take to a part of all: while a
	// snapshot is held each of them steps over what seconds of work left behind.
	farShare = 20
	// farEvery is the longest wait for a far look, sweepEvery for a sweep: no row
	// waits longer to be seen.
	farEvery   = time.Second
	sweepEvery = 15 * time.Second
)

// watermark is below what a claim need not look. While somebody holds a snapshot,
// dead entries pile up at the old end of the queue index, at each due time and at
// each end of a lease that there has been; a claim reads all of them from where
// it begins.
type watermark struct {
	// oldest is the oldest due time of the last claim; zero: look everywhere.
	oldest time.Time
	// farAt is when a claim last looked far, and farCost what that took; sweptAt is
	// when one looked everywhere. All by the local clock.
	farAt, sweptAt time.Time
	farCost        time.Duration
}

// next is how far a claim that starts now looks.
func (w *watermark) next(started time.Time) reach {
	switch {
	case w.oldest.IsZero() || started.Sub(w.sweptAt) >= sweepEvery:
		return everywhere
	case started.Sub(w.farAt) >= min(farShare*w.farCost, farEvery):
		return far
	}
	return near
}

// low is where a look begins.
func (w *watermark) low(r reach) pgtype.Timestamptz {
	switch r {
	case near:
		return pgtype.Timestamptz{Time: w.oldest.Add(-nearSlack), Valid: true}
	case far:
		return pgtype.Timestamptz{Time: w.oldest.Add(-farSlack), Valid: true}
	case everywhere:
	}
	return pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
}

// advance moves the watermark behind the oldest row of a claim, or behind the
// database's time when nothing was due.
func (w *watermark) advance(t *taking, r reach) {
	w.oldest = t.now
	if len(t.taken) > 0 {
		w.oldest = t.oldest
	}
	if r == near {
		return
	}
	w.farAt = t.started
	if r == far {
		w.farCost = time.Since(t.started)
		return
	}
	w.sweptAt = t.started
}

// lookEverywhere makes the next claim look at everything: rows have been given
// back with the due time that they had.
func (s *Store) lookEverywhere() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.watermark.oldest = time.Time{}
}
