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
	last              Sample
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
	// Lost counts events whose row has been SENT, or away, for 5 s without a
	// receipt.
	Lost int64
}

// NewLive watches these tables.
func NewLive(tables Tables) *Live { return &Live{tables: tables} }

// Sample looks now.
func (l *Live) Sample(ctx context.Context) (Sample, error) {
	var (
		s                 = Sample{At: time.Now()}
		since, deliveries int64
		known             *int64
	)
	err := l.tables.pool.QueryRow(ctx, l.tables.sql(liveSQL), l.known).Scan(
		&since, &s.Lost, &s.Unsent, &s.Failed, &deliveries, &s.Duplicates, &known)
	if err != nil {
		return Sample{}, fmt.Errorf("look at the load: %w", err)
	}
	s.Committed, s.Received = l.knownCount+since, deliveries-s.Duplicates
	if !l.last.At.IsZero() {
		s.PerSecond = max(0, float64(s.Received-l.last.Received)/s.At.Sub(l.last.At).Seconds())
	}
	l.last = s
	return s, l.advance(ctx, known)
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
