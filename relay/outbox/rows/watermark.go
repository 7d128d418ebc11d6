package rows

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

const (
	// sweepEvery is how often a claim looks below the watermark. Rows can
	// appear there: of a writer whose transaction was long, or locked by others
	// when the claim passed by. They wait no longer than this.
	sweepEvery = 15 * time.Second
	// watermarkSlack is how far the watermark stays behind, so that ordinary
	// writers' rows are never below it.
	watermarkSlack = 5 * time.Second
)

// watermark is the due time below which a claim need not look. While somebody
// holds a snapshot, dead entries pile up at the old end of the queue index;
// without a lower bound each claim would read all of them.
type watermark struct {
	low time.Time // zero: look at everything
	// sweptAt is when a claim last looked at everything, by the local clock.
	sweptAt time.Time
}

// from is where a claim that starts now has to begin, and whether it looks at
// everything.
func (s *Store) from(started time.Time) (low pgtype.Timestamptz, sweep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.mu.watermark
	if w.low.IsZero() || started.Sub(w.sweptAt) >= sweepEvery {
		return pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}, true
	}
	return pgtype.Timestamptz{Time: w.low, Valid: true}, false
}

// advance moves the watermark behind the oldest row of a claim, or behind the
// database's time when nothing was due.
func (s *Store) advance(t *taking, sweep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := t.now
	if len(t.taken) > 0 {
		oldest = t.oldest
	}
	s.mu.watermark.low = oldest.Add(-watermarkSlack)
	if sweep {
		s.mu.watermark.sweptAt = t.started
	}
}

// lookEverywhere makes the next claim look at everything: rows have been given
// back with the due time that they had.
func (s *Store) lookEverywhere() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.watermark.low = time.Time{}
}
