package progress

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// At is how far a running step is.
type At struct {
	began       time.Time
	expect      time.Duration
	done, total atomic.Int64
	what        atomic.Value
}

// Of says that a step consists of total pieces, named what ("packages").
func (a *At) Of(total int, what string) {
	a.what.Store(what)
	a.total.Store(int64(total))
}

// Done counts one finished piece.
func (a *At) Done() { a.done.Add(1) }

// String is a bar over the pieces where they are known, else the running time
// alone: an estimate drawn as a bar would pretend to know.
func (a *At) String() string {
	running := short(time.Since(a.began))
	total := a.total.Load()
	if total == 0 {
		return "running for " + running
	}
	done := min(a.done.Load(), total)
	return fmt.Sprintf("%s %d of %d %s, %s", bar(done, total), done, total, a.what.Load(), running)
}

const barWidth = 24

func bar(done, total int64) string {
	full := int(barWidth * done / total)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}

// short rounds a duration to what a reader wants to see.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Minute && d%time.Minute == 0:
		return strings.TrimSuffix(d.String(), "0s")
	default:
		return d.Round(time.Second).String()
	}
}
