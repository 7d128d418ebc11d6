package relay

import (
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

// Events is told what happened. The pipeline neither logs nor counts: logs,
// metrics and the report listen here. Functions may be nil; they are called
// from several goroutines and must return quickly.
type Events struct {
	// Claimed: a claim committed; took is how long it needed.
	Claimed func(b event.Batch, took time.Duration)
	// Published: a batch has its outcomes; err is the publisher's.
	Published func(b event.Batch, outcomes []event.Outcome, took time.Duration, err error)
	// Renewed: a claim was renewed; done counts the rows, also those that are not
	// ours any more.
	Renewed func(done event.Settled)
	// Suspected: the broker gave no answer for some events of b, and is well; so
	// one of the records may be the cause.
	Suspected func(b event.Batch, err error)
	// Settled: outcomes were recorded or rows given back; done counts them, the
	// rows that the guard refused too.
	Settled func(b event.Batch, done event.Settled, took time.Duration)
	// Abandoned: rows of a batch are left to their lease, since err kept them
	// from being settled in time.
	Abandoned func(b event.Batch, rows int, err error)
	// Holding: the relay has claimed or settled events, or has sent payloads; it
	// holds so many now.
	Holding func(events int, bytes int64)
	// Paused: claiming stops, because of err; or it has stopped already, and err
	// is another reason than before.
	Paused func(s Subject, err error)
	// Resumed: the subject of a pause can be used again.
	Resumed func(s Subject, paused time.Duration)
	// Sampled: the table was looked at.
	Sampled func(b event.Backlog)
	// Examined: the table was looked at as a whole; findings are all that is not as
	// it should be.
	Examined func(findings []schema.Finding)
	// Partitioned: the fleet's topic has another number of partitions than was known;
	// before is 0 the first time.
	Partitioned func(now, before int)
	// Heard: notifications are heard from now on, or not any more because of err.
	Heard func(err error)
	// Announced: new rows were found that no notification has told of, time and
	// again, or, for yes, one has told of some since.
	Announced func(yes bool)
	// Hinted: a notification has ended a wait for rows.
	Hinted func()
	// Purged: published rows were deleted after their window.
	Purged func(deleted int, took time.Duration)
	// Warned: something failed that stops nothing.
	Warned func(doing string, err error)
}

// Subject is something that a relay depends on.
type Subject string

// The subjects.
const (
	Database Subject = "database"
	Broker   Subject = "broker"
)

// Tee returns Events that tell every one of all, in order.
func Tee(all ...Events) Events {
	return Events{
		Claimed: func(b event.Batch, took time.Duration) {
			for _, e := range all {
				call(e.Claimed != nil, func() { e.Claimed(b, took) })
			}
		},
		Published: func(b event.Batch, o []event.Outcome, took time.Duration, err error) {
			for _, e := range all {
				call(e.Published != nil, func() { e.Published(b, o, took, err) })
			}
		},
		Renewed: func(done event.Settled) {
			for _, e := range all {
				call(e.Renewed != nil, func() { e.Renewed(done) })
			}
		},
		Suspected: func(b event.Batch, err error) {
			for _, e := range all {
				call(e.Suspected != nil, func() { e.Suspected(b, err) })
			}
		},
		Settled: func(b event.Batch, done event.Settled, took time.Duration) {
			for _, e := range all {
				call(e.Settled != nil, func() { e.Settled(b, done, took) })
			}
		},
		Abandoned: func(b event.Batch, rows int, err error) {
			for _, e := range all {
				call(e.Abandoned != nil, func() { e.Abandoned(b, rows, err) })
			}
		},
		Holding: func(events int, bytes int64) {
			for _, e := range all {
				call(e.Holding != nil, func() { e.Holding(events, bytes) })
			}
		},
		Paused: func(s Subject, err error) {
			for _, e := range all {
				call(e.Paused != nil, func() { e.Paused(s, err) })
			}
		},
		Resumed: func(s Subject, paused time.Duration) {
			for _, e := range all {
				call(e.Resumed != nil, func() { e.Resumed(s, paused) })
			}
		},
		Sampled: func(b event.Backlog) {
			for _, e := range all {
				call(e.Sampled != nil, func() { e.Sampled(b) })
			}
		},
		Examined: func(findings []schema.Finding) {
			for _, e := range all {
				call(e.Examined != nil, func() { e.Examined(findings) })
			}
		},
		Partitioned: func(now, before int) {
			for _, e := range all {
				call(e.Partitioned != nil, func() { e.Partitioned(now, before) })
			}
		},
		Heard: func(err error) {
			for _, e := range all {
				call(e.Heard != nil, func() { e.Heard(err) })
			}
		},
		Announced: func(yes bool) {
			for _, e := range all {
				call(e.Announced != nil, func() { e.Announced(yes) })
			}
		},
		Hinted: func() {
			for _, e := range all {
				call(e.Hinted != nil, e.Hinted)
			}
		},
		Purged: func(deleted int, took time.Duration) {
			for _, e := range all {
				call(e.Purged != nil, func() { e.Purged(deleted, took) })
			}
		},
		Warned: func(doing string, err error) {
			for _, e := range all {
				call(e.Warned != nil, func() { e.Warned(doing, err) })
			}
		},
	}
}

func call(listens bool, tell func()) {
	if listens {
		tell()
	}
}
