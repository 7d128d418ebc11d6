package publish

import (
	"context"
	"time"
)

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = time.Second
)

// backoff is the wait before the try that follows so many failed ones: it
// doubles up to a second.
func backoff(failed int) time.Duration {
	return min(minBackoff<<min(max(failed-1, 0), 10), maxBackoff)
}
