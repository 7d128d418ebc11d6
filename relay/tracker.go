package relay

import (
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
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
		// arrivals per minute, between the last two looks; nil: unknown.
		arrivals *float64
		findings []report.Code
		// partitions of the fleet's topic; 0: unknown.
		partitions int
		// heard is why notifications are not heard, unless listens is false: then
		// nobody has said yet.
		listens     bool
		heard       error
		unannounced bool
		stopping    bool
		minute      lastMinute
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
		Claimed: func(b event.Batch, took time.Duration) { t.count(t.claimed(b, took)) },
		Published: func(_ event.Batch, _ []event.Outcome, took time.Duration, _ error) {
			t.count(counts{send: span(took)})
		},
		Suspected: func(event.Batch, error) { t.count(counts{rates: report.Rates{Suspected: 1}}) },
		Renewed:   func(done event.Settled) { t.count(settled(done)) },
		Settled: func(_ event.Batch, done event.Settled, took time.Duration) {
			c := settled(done)
			c.settle = span(took)
			t.count(c)
		},
		Paused:   t.paused,
		Resumed:  func(s Subject, _ time.Duration) { t.resumed(s) },
		Sampled:  t.sampled,
		Examined: t.examined,

		Partitioned: func(now, _ int) { t.partitioned(now) },
		Heard:       t.heard,
		Announced:   t.announced,
		Hinted:      func() { t.count(counts{rates: report.Rates{Hinted: 1}}) },
	}
}

func (t *Tracker) examined(findings []schema.Finding) {
	var codes []report.Code
	for _, code := range schema.Codes(findings, schema.Warning) {
		codes = append(codes, report.Code(code))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.findings = codes[:min(len(codes), report.MaxFindings)]
}

func (t *Tracker) partitioned(now int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.partitions = now
}

func (t *Tracker) heard(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.listens, t.mu.heard = true, err
}

func (t *Tracker) announced(yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.unannounced = !yes
}

func (t *Tracker) notifications() report.Code {
	switch {
	case !t.mu.listens:
		return ""
	case t.mu.heard != nil:
		return report.NotHeard
	case t.mu.unannounced:
		return report.NotAnnounced
	default:
		return report.OK
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
	r.Findings = t.mu.findings
	r.Partitions = int64(t.mu.partitions)
	r.Notifications = t.notifications()
	minute := t.mu.minute.sum(time.Now())
	r.Rates = minute.rates
	r.Latencies = report.Latencies{
		ClaimMillis: minute.claim.latency(), SendMillis: minute.send.latency(), SettleMillis: minute.settle.latency(),
	}
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
		ArrivalsPerMinute:        t.mu.arrivals,
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
	t.mu.arrivals = arrivals(t.mu.backlog, b)
	t.mu.backlog, t.mu.sampled = &b, time.Now()
}

// arrivals per minute between two looks; nil when they cannot be compared: the
// first look, another server, or statistics that began anew.
func arrivals(before *event.Backlog, now event.Backlog) *float64 {
	if before == nil || now.Inserted < before.Inserted || !now.SampledAt.After(before.SampledAt) {
		return nil
	}
	return new(float64(now.Inserted-before.Inserted) / now.SampledAt.Sub(before.SampledAt).Minutes())
}

func (t *Tracker) count(c counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.minute.add(time.Now(), &c)
}

func (t *Tracker) claimed(b event.Batch, took time.Duration) counts {
	c := counts{rates: report.Rates{Abandoned: int64(b.Abandoned)}}
	if len(b.Events) == 0 {
		return c
	}
	c.claim = span(took)
	c.rates.Batches, c.rates.Reclaimed = 1, int64(b.Reclaimed)
	if len(b.Events) == t.batchSize {
		c.rates.FullBatches = 1
	}
	return c
}

func settled(done event.Settled) counts {
	return counts{rates: report.Rates{
		Published: int64(done.Sent), Retried: int64(done.Retried), Failed: int64(done.Failed),
		Released: int64(done.Released), Stale: int64(done.Stale), Overtaken: int64(done.Overtaken), AlreadyMine: int64(done.AlreadyMine),
	}}
}
