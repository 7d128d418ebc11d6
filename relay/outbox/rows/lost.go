package rows

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// lookAgainAfter is the wait before a claim that was not found is looked
	// for again: the server may still be at it.
	lookAgainAfter = time.Second
	// clockSlack widens the window in which a lost claim's leases end, against
	// the time between the relay's clock reading and the server's.
	clockSlack = 2 * time.Second
)

// lostClaim is a claim that may hold rows of which the relay knows nothing.
type lostClaim struct {
	token   string
	started time.Time
	lookAt  time.Time
}

// remember notes the tokens that the rows of a claim may have. Without a token
// they cannot be found, and their lease must end.
func (s *Store) remember(t *taking) {
	if s.config.Mapping.ClaimToken == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lost = append(s.mu.lost, lostClaim{token: t.token.String(), started: t.started})
	if t.ask.Suspects {
		s.mu.lost = append(s.mu.lost, lostClaim{token: t.lone().String(), started: t.started})
	}
}

// recoverLost gives back what lost claims hold. One that was found is done
// with, and so is one whose lease must have ended.
func (s *Store) recoverLost(ctx context.Context, conn *pgxpool.Conn, all *statements) error {
	for _, lost := range s.lostNow() {
		found, err := s.recoverClaim(ctx, conn, all, lost)
		if err != nil {
			return err
		}
		s.lookedFor(lost, found)
		if found {
			s.lookEverywhere()
		}
	}
	return nil
}

// lostNow forgets the claims that are over and returns those to be looked for.
func (s *Store) lostNow() []lostClaim {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.mu.lost = slices.DeleteFunc(s.mu.lost, func(l lostClaim) bool {
		return now.Sub(l.started) > s.config.Lease+s.patience()
	})
	return slices.DeleteFunc(slices.Clone(s.mu.lost), func(l lostClaim) bool { return now.Before(l.lookAt) })
}

func (s *Store) recoverClaim(ctx context.Context, conn *pgxpool.Conn, all *statements, lost lostClaim) (found bool, err error) {
	earliest := s.config.Lease - time.Since(lost.started) - clockSlack
	for _, do := range []statement{all.recover, all.recoverSuspects} {
		if do.sql == "" {
			continue
		}
		err = repeated(func() error {
			tag, err := s.run(ctx, conn, do, lost.token, max(0, earliest), s.config.Lease+clockSlack)
			found = found || tag.RowsAffected() > 0
			return err
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

func (s *Store) lookedFor(lost lostClaim, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.mu.lost, func(l lostClaim) bool { return l.token == lost.token })
	switch {
	case i < 0:
	case found:
		s.mu.lost = slices.Delete(s.mu.lost, i, i+1)
	default:
		s.mu.lost[i].lookAt = time.Now().Add(lookAgainAfter)
	}
}
