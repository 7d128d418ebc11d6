package relay

import (
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/report"
)

// Tracker listens to a relay and makes its reports.
type Tracker struct {
	identity  report.Report
	batchSize int

	mu struct {
		sync.Mutex
		database, schema, broker health
		backlog                  *event.Backlog
		sampled                  time.Time
		stopping                 bool
		minute                   lastMinute
	}
}

// health is a finding, and since when it has been the same.
type health struct {
	finding
	since time.Time
}

func (h *health) set(f finding) {
	if !f.equals(h.finding) {
		*h = health{f, time.Now()}
	}
}

func (h health) report() report.Health {
	return report.Health{Code: h.code, Slots: h.slots, ForSeconds: int64(time.Since(h.since).Seconds())}
}

// NewTracker returns a tracker whose reports carry the identity that is set in
// r: Namespace, Resource, Pod, Settings and Build. A claim of batchSize rows is
// a full one.
func NewTracker(r report.Report, batchSize int) *Tracker {
	r.Version = report.Version
	t := &Tracker{identity: r, batchSize: batchSize}
	for _, h := range []*health{&t.mu.database, &t.mu.schema, &t.mu.broker} {
		h.set(finding{code: report.Unchecked})
	}
	return t
}

// Events is what the tracker listens to.
func (t *Tracker) Events() Events {
	return Events{
		Claimed: func(b event.Batch, _ time.Duration) { t.count(t.claimed(b)) },
		Settled: func(_ event.Batch, done event.Settled, _ time.Duration) { t.count(settled(done)) },
		Paused:  t.paused,
		Resumed: func(s Subject, _ time.Duration) { t.resumed(s) },
		Sampled: t.sampled,
	}
}

// Stopping makes the reports say that the relay ends.
func (t *Tracker) Stopping() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.stopping = true
}

// Report is the report of this moment.
func (t *Tracker) Report() report.Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.identity
	r.Database, r.Schema, r.Broker = t.mu.database.report(), t.mu.schema.report(), t.mu.broker.report()
	r.State = t.state()
	r.Backlog = t.backlog()
	r.Rates = t.mu.minute.sum(time.Now())
	return r
}

func (t *Tracker) state() report.State {
	switch {
	case t.mu.stopping:
		return report.Stopping
	case t.mu.database.code == report.OK && t.mu.schema.code == report.OK && t.mu.broker.code == report.OK:
		return report.Running
	default:
		return report.Waiting
	}
}

func (t *Tracker) backlog() *report.Backlog {
	b := t.mu.backlog
	if b == nil {
		return nil
	}
	return &report.Backlog{
		AgeSeconds:               time.Since(t.mu.sampled).Seconds(),
		SampledAt:                b.SampledAt.UTC(),
		OldestEligibleAgeSeconds: b.OldestEligible.Seconds(),
		OldestUnsentAgeSeconds:   b.OldestUnsent.Seconds(),
		Eligible:                 int64(b.Eligible),
		InFlight:                 int64(b.InFlight),
		ExpiredLeases:            int64(b.ExpiredLeases),
		Failed:                   int64(b.Failed),
		Cap:                      int64(b.Cap),
	}
}

func (t *Tracker) paused(s Subject, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s == Broker {
		t.mu.broker.set(brokerFinding(err))
		return
	}
	f := databaseFinding(err)
	if f.aboutSchema() {
		t.mu.database.set(finding{code: report.OK})
		t.mu.schema.set(f)
		return
	}
	t.mu.database.set(f)
}

func (t *Tracker) resumed(s Subject) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ok := finding{code: report.OK}
	if s == Broker {
		t.mu.broker.set(ok)
		return
	}
	t.mu.database.set(ok)
	t.mu.schema.set(ok)
}

func (t *Tracker) sampled(b event.Backlog) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.backlog, t.mu.sampled = &b, time.Now()
}

func (t *Tracker) count(r report.Rates) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.minute.add(time.Now(), r)
}

func (t *Tracker) claimed(b event.Batch) report.Rates {
	if len(b.Events) == 0 {
		return report.Rates{}
	}
	r := report.Rates{Batches: 1, Reclaimed: int64(b.Reclaimed)}
	if len(b.Events) == t.batchSize {
		r.FullBatches = 1
	}
	return r
}

func settled(done event.Settled) report.Rates {
	return report.Rates{
		Published: int64(done.Sent), Retried: int64(done.Retried), Failed: int64(done.Failed),
		Released: int64(done.Released), Stale: int64(done.Stale),
	}
}
