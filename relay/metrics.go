package relay

import (
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Metrics listens to a relay and counts for Prometheus. docs/reference/metrics.md
// is their reference. No label has more values than are written here.
type Metrics struct {
	registry *prometheus.Registry

	published, abandoned, reclaimed, unrecorded prometheus.Counter
	emptyClaims, suspected, purged, hinted      prometheus.Counter
	unpublished, recorded, refused              *prometheus.CounterVec
	claim, send, settle                         prometheus.Histogram
	events, bytes                               prometheus.Gauge
	table                                       tableGauges
	pauses                                      map[Subject]*pauseMetrics
}

// tableGauges are the newest look at the table; NaN before the first.
type tableGauges struct {
	lookedAt, oldestEligible, oldestUnsent, eligible, claimed, expired, failed prometheus.Gauge
}

// outcomeNames are the values of the label outcome.
var outcomeNames = map[event.OutcomeKind]string{
	event.Refused: "refused", event.Rejected: "rejected", event.Unknown: "unknown", event.Unsent: "unsent",
}

// NewMetrics returns metrics in a registry of their own, with those of the Go
// runtime and of the process.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	m.published = m.counter("published_events_total", "Events that the broker has acknowledged.")
	m.unpublished = m.counters("unpublished_events_total", "Claimed events that were not acknowledged, by outcome.",
		"outcome", "refused", "rejected", "unknown", "unsent")
	m.recorded = m.counters("recorded_events_total", "Rows whose outcome was recorded in the table, by what it was.",
		"as", "sent", "retried", "failed", "released", "renewed")
	m.refused = m.counters("refused_records_total", "Rows of which nothing was recorded because the claim no longer covers them, by kind.",
		"kind", "stale", "already_mine", "overtaken")
	m.unrecorded = m.counter("unrecorded_events_total", "Events that were left to their lease because the table could not be reached in time.")
	m.abandoned = m.counter("abandoned_events_total", "Events that a claim has ended as FAILED because they were alone when their last relay died.")
	m.reclaimed = m.counter("reclaimed_events_total", "Claimed events whose former claim had run out.")
	m.suspected = m.counter("suspected_batches_total", "Batches without an answer from a broker that is well.")
	m.purged = m.counter("purged_rows_total", "Published rows that retention has deleted.")
	m.hinted = m.counter("hinted_waits_total", "Waits for rows that a notification has ended.")
	m.emptyClaims = m.counter("empty_claims_total", "Claims that found nothing due.")

	m.claim = m.histogram("claim_seconds", "How long claims took that found events.")
	m.send = m.histogram("send_seconds", "How long batches took from the first send to their outcomes.")
	m.settle = m.histogram("settle_seconds", "How long recording the outcomes of a batch took.")

	m.events = m.gauge("events_in_flight", "Events that are claimed and not yet settled by this relay.")
	m.bytes = m.gauge("payload_bytes_in_flight", "Payload bytes that this relay holds.")
	m.table = m.tableGauges()
	m.pauses = map[Subject]*pauseMetrics{Database: m.pause(Database), Broker: m.pause(Broker)}
	return m
}

func (m *Metrics) tableGauges() tableGauges {
	g := tableGauges{
		lookedAt:       m.gauge("table_looked_at_timestamp_seconds", "When the table was last looked at; the other table metrics are of then."),
		oldestEligible: m.gauge("table_oldest_eligible_age_seconds", "Age, since it was due, of the oldest row that could be claimed; 0 when there is none."),
		oldestUnsent:   m.gauge("table_oldest_unsent_age_seconds", "Age, since its insert, of the oldest row that is neither SENT nor FAILED; 0 when there is none."),
		eligible:       m.gauge("table_eligible_rows", "Rows that could be claimed; counting stops at a cap."),
		claimed:        m.gauge("table_claimed_rows", "Rows under a claim of any relay; counting stops at a cap."),
		expired:        m.gauge("table_expired_leases", "Rows whose claim has run out and that nobody has claimed since; counting stops at a cap."),
		failed:         m.gauge("table_failed_rows", "Rows that are FAILED; counting stops at a cap."),
	}
	for _, unknown := range []prometheus.Gauge{g.lookedAt, g.oldestEligible, g.oldestUnsent, g.eligible, g.claimed, g.expired, g.failed} {
		unknown.Set(math.NaN())
	}
	return g
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Events is what the metrics listen to.
func (m *Metrics) Events() Events {
	return Events{
		Claimed:   m.onClaimed,
		Published: m.onPublished,
		Renewed:   m.onRecorded,
		Suspected: func(event.Batch, error) { m.suspected.Inc() },
		Hinted:    m.hinted.Inc,
		Settled: func(_ event.Batch, done event.Settled, took time.Duration) {
			m.settle.Observe(took.Seconds())
			m.onRecorded(done)
		},
		Abandoned: func(_ event.Batch, rows int, _ error) { m.unrecorded.Add(float64(rows)) },
		Holding:   func(events int, bytes int64) { m.events.Set(float64(events)); m.bytes.Set(float64(bytes)) },
		Paused:    func(s Subject, _ error) { m.pauses[s].begin() },
		Resumed:   func(s Subject, _ time.Duration) { m.pauses[s].end() },
		Sampled:   m.onSampled,
		Purged:    func(deleted int, _ time.Duration) { m.purged.Add(float64(deleted)) },
	}
}

func (m *Metrics) onClaimed(b event.Batch, took time.Duration) {
	m.abandoned.Add(float64(b.Abandoned))
	if len(b.Events) == 0 {
		m.emptyClaims.Inc()
		return
	}
	m.claim.Observe(took.Seconds())
	m.reclaimed.Add(float64(b.Reclaimed))
}

func (m *Metrics) onPublished(_ event.Batch, outcomes []event.Outcome, took time.Duration, _ error) {
	m.send.Observe(took.Seconds())
	for kind, n := range countKinds(outcomes) {
		if kind == event.Published {
			m.published.Add(float64(n))
		} else {
			m.unpublished.WithLabelValues(outcomeNames[kind]).Add(float64(n))
		}
	}
}

func (m *Metrics) onRecorded(done event.Settled) {
	for as, n := range map[string]int{
		"sent": done.Sent, "retried": done.Retried, "failed": done.Failed, "released": done.Released, "renewed": done.Renewed,
	} {
		m.recorded.WithLabelValues(as).Add(float64(n))
	}
	for kind, n := range map[string]int{"stale": done.Stale, "already_mine": done.AlreadyMine, "overtaken": done.Overtaken} {
		m.refused.WithLabelValues(kind).Add(float64(n))
	}
}

func (m *Metrics) onSampled(b event.Backlog) {
	t := m.table
	t.lookedAt.SetToCurrentTime()
	t.oldestEligible.Set(b.OldestEligible.Seconds())
	t.oldestUnsent.Set(b.OldestUnsent.Seconds())
	t.eligible.Set(float64(b.Eligible))
	t.claimed.Set(float64(b.InFlight))
	t.expired.Set(float64(b.ExpiredLeases))
	t.failed.Set(float64(b.Failed))
}

// pauseMetrics are those of one subject, which begins paused: it is not checked yet.
type pauseMetrics struct {
	count prometheus.Counter

	mu     sync.Mutex
	since  time.Time // zero: not paused
	before time.Duration
}

func (m *Metrics) pause(s Subject) *pauseMetrics {
	p := &pauseMetrics{since: time.Now()}
	labels := prometheus.Labels{"subject": string(s)}
	p.count = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "relayfleet_pauses_total", ConstLabels: labels,
		Help: "How often claiming had to stop, by what could not be used.",
	})
	m.registry.MustRegister(p.count, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "relayfleet_paused_seconds_total", ConstLabels: labels,
		Help: "How long claiming has been stopped, a pause that goes on and the start included, by what could not be used.",
	}, p.seconds))
	return p
}

// begin is also called in the middle of a pause, when its reason changes.
func (p *pauseMetrics) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since.IsZero() {
		p.since = time.Now()
		p.count.Inc()
	}
}

func (p *pauseMetrics) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.since.IsZero() {
		p.before += time.Since(p.since)
		p.since = time.Time{}
	}
}

func (p *pauseMetrics) seconds() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := p.before
	if !p.since.IsZero() {
		total += time.Since(p.since)
	}
	return total.Seconds()
}

const metricsPrefix = "relayfleet_"

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: metricsPrefix + name, Help: help})
	m.registry.MustRegister(c)
	return c
}

// counters has all values of its label from the start, so that a rate sees the
// first event of each.
func (m *Metrics) counters(name, help, label string, values ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricsPrefix + name, Help: help}, []string{label})
	for _, value := range values {
		c.WithLabelValues(value)
	}
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: metricsPrefix + name, Help: help})
	m.registry.MustRegister(g)
	return g
}

// histogram has buckets from half a millisecond to more than a minute.
func (m *Metrics) histogram(name, help string) prometheus.Histogram {
	const first, factor, count = 0.0005, 2, 18
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: metricsPrefix + name, Help: help, Buckets: prometheus.ExponentialBuckets(first, factor, count),
	})
	m.registry.MustRegister(h)
	return h
}
