package load

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

//go:embed live.sql
var liveSQL string

// Live tells how a load is doing while it runs, cheaply enough to be asked every
// second. It is for one goroutine.
type Live struct {
	tables Tables
	// known is the order up to which all are received, and knownCount how many
	// those are: they are not looked at again.
	known, knownCount int64
	samples           []Sample
}

// Sample is the state of one moment.
type Sample struct {
	At time.Time
	// Committed counts events, Received deliveries less Duplicates.
	Committed, Received, Duplicates int64
	// PerSecond is how many events were received per second since the sample before.
	PerSecond float64
	// Unsent and Failed count rows of the outbox.
	Unsent, Failed int64
	// Lost counts events that have been neither received nor unsent nor FAILED
	// for as long as lossWindow: on their way an event is for a moment neither.
	Lost int64

	astray int64
}

const lossWindow = 5 * time.Second

// NewLive watches these tables.
func NewLive(tables Tables) *Live { return &Live{tables: tables} }

// Sample looks now.
func (l *Live) Sample(ctx context.Context) (Sample, error) {
	var (
		s               = Sample{At: time.Now()}
		since, missing  int64
		deliveries      int64
		known           *int64
		previous, first = l.last(), len(l.samples) == 0
	)
	err := l.tables.pool.QueryRow(ctx, l.tables.sql(liveSQL), l.known).Scan(
		&since, &missing, &s.Unsent, &s.Failed, &deliveries, &s.Duplicates, &known)
	if err != nil {
		return Sample{}, fmt.Errorf("look at the load: %w", err)
	}
	s.Committed, s.Received = l.knownCount+since, deliveries-s.Duplicates
	s.astray = max(0, missing-s.Unsent-s.Failed)
	if !first {
		s.PerSecond = max(0, float64(s.Received-previous.Received)/s.At.Sub(previous.At).Seconds())
	}
	l.keep(&s)
	return s, l.advance(ctx, known)
}

func (l *Live) last() Sample {
	if len(l.samples) == 0 {
		return Sample{}
	}
	return l.samples[len(l.samples)-1]
}

// keep adds s to the window and finds what was astray in all of it: an event
// that is lost stays so.
func (l *Live) keep(s *Sample) {
	l.samples = append(l.samples, *s)
	for len(l.samples) > 1 && s.At.Sub(l.samples[1].At) >= lossWindow {
		l.samples = l.samples[1:]
	}
	if s.At.Sub(l.samples[0].At) < lossWindow {
		return
	}
	s.Lost = s.astray
	for _, earlier := range l.samples {
		s.Lost = min(s.Lost, earlier.astray)
	}
}

// advance moves what need not be looked at again up to the order known.
func (l *Live) advance(ctx context.Context, known *int64) error {
	if known == nil || *known <= l.known {
		return nil
	}
	var more int64
	err := l.tables.pool.QueryRow(ctx, l.tables.sql("SELECT count(*) FROM /*schema*/public.orders WHERE id > $1 AND id <= $2"),
		l.known, *known).Scan(&more)
	if err != nil {
		return fmt.Errorf("count orders: %w", err)
	}
	l.known, l.knownCount = *known, l.knownCount+more
	return nil
}
