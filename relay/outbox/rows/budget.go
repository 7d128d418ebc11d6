package rows

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// chunkBytes bounds the payloads of one read.
const chunkBytes = 1 << 20

// split cuts off the rows whose payloads go beyond so many bytes (0: no limit),
// and remembers how many fit, so that the next claim does not take them for
// nothing.
func (s *Store) split(rows []claimed, bytes int64) (kept, surplus []claimed) {
	n := len(rows)
	if bytes > 0 {
		n = prefix(rows, bytes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n < len(rows):
		s.mu.rowsFit = n
	case s.mu.rowsFit > 0:
		s.mu.rowsFit *= 2
	}
	return rows[:n], rows[n:]
}

// fitting is limit, or less while payloads are large.
func (s *Store) fitting(limit int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.rowsFit >= limit {
		s.mu.rowsFit = 0
	}
	if s.mu.rowsFit > 0 {
		return s.mu.rowsFit
	}
	return limit
}

// prefix is how many rows, at least one, stay within the limit of bytes.
func prefix(rows []claimed, limit int64) int {
	var bytes int64
	for i, row := range rows {
		if bytes += int64(row.bytes); bytes > limit && i > 0 {
			return i
		}
	}
	return len(rows)
}

// giveBack releases rows of a claim that nobody has seen yet.
func (s *Store) giveBack(ctx context.Context, conn *pgxpool.Conn, all *statements, c *claim) error {
	if len(c.ids) == 0 {
		return nil
	}
	dueNow := false
	_, err := s.run(ctx, conn, all.release, append(c.args(allOf(c), all.keys), dueNow)...)
	return err
}
