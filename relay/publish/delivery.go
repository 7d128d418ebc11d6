package publish

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/IBM/sarama"

	"github.com/relayfleet/relayfleet/relay/event"
)

// delivery is one Publish: the events of a batch on their way to one outcome
// each. It goes in rounds; a round sends at most one chunk to each partition.
type delivery struct {
	config   Config
	codec    sarama.CompressionCodec
	events   []event.Event
	outcomes []event.Outcome
	records  []*sarama.Record
	queues   []*queue
	refusals refusedTopics
	stuck    []stuck
	// isolated: since events were last held back, some were refused.
	isolated bool
	// problem is the first that was met and not overcome.
	problem *Problem
	// unclean: some sequence number may or may not be used, or connections have
	// died. The session must not be used again.
	unclean bool
}

// queue is what is still to go to one partition, in order.
type queue struct {
	target target
	// own: it is a row's own topic, not the fleet's.
	own bool
	// limit is the largest batch that the topic takes, in bytes.
	limit  int
	chunks []*chunk
	// failed counts the failures in a row of the first chunk; the first was at
	// since, the last was err.
	failed int
	since  time.Time
	err    error
}

func newDelivery(c Config, events []event.Event, known refusedTopics) *delivery {
	d := &delivery{config: c, events: events, outcomes: make([]event.Outcome, len(events)), refusals: known}
	d.codec, _ = c.Compression.codec() // New has checked it.
	for i := range events {
		d.outcomes[i].Kind = event.Unsent
		if why := events[i].Invalid; why != "" {
			d.outcomes[i] = event.Outcome{Kind: event.Rejected, Reason: why}
		}
	}
	return d
}

func (d *delivery) wants(i int) bool { return d.outcomes[i].Kind == event.Unsent }

// isDone: no event is left that could be sent.
func (d *delivery) isDone() bool {
	for i := range d.outcomes {
		if d.wants(i) {
			return false
		}
	}
	return true
}

// meet notes a problem. The first stays: what follows is mostly its consequence.
func (d *delivery) meet(doing string, err error) {
	d.unclean = true
	if d.problem == nil {
		d.problem = problemOf(doing, err)
	}
}

// run sends until every event has an outcome, or no more can be done in time.
func (d *delivery) run(ctx context.Context, s *session) {
	for d.dropEmpty(); len(d.queues) > 0 && ctx.Err() == nil && s.gate.isOpen(); d.dropEmpty() {
		if failed := d.round(ctx, s); len(failed) > 0 {
			d.recover(ctx, s, failed)
		}
	}
	for _, q := range d.queues {
		if q.err != nil {
			d.giveUp(failure{q, q.err})
		}
	}
	d.conclude()
}

func (d *delivery) dropEmpty() {
	live := d.queues[:0]
	for _, q := range d.queues {
		if len(q.chunks) > 0 {
			live = append(live, q)
		}
	}
	d.queues = live
}

// round sends the first chunk of each queue and returns the queues that failed.
// Events are held back only when every answer has been taken: until then the
// first chunk of a queue is what its answer is about.
func (d *delivery) round(ctx context.Context, s *session) []failure {
	requests, failed := d.requests(ctx, s)
	for _, a := range s.exchange(ctx, requests) {
		if err := d.take(s, a); err != nil {
			failed = append(failed, failure{a.queue, err})
		}
	}
	if d.isolated {
		d.isolated = false
		d.holdBack()
	}
	return failed
}

// failure is a queue whose first chunk has no final outcome yet.
type failure struct {
	queue *queue
	err   error
}

// recover decides which of the failed queues are tried again, and prepares that.
func (d *delivery) recover(ctx context.Context, s *session, failed []failure) {
	renew, most := false, 0
	var again []*queue
	for _, f := range failed {
		if !d.mayTryAgain(f) {
			d.giveUp(f)
			continue
		}
		again = append(again, f.queue)
		renew = renew || judge(f.err).renew
		most = max(most, f.queue.failed)
	}
	if len(again) == 0 || sleep(ctx, backoff(most)) != nil {
		return
	}
	d.askAgain(ctx, s, again)
	if renew {
		if err := s.identify(ctx); err != nil {
			d.abandon("renew the producer id", err)
		}
	}
}

// askAgain looks up the topics of queues that have failed. What is still wrong
// the next round says, unless an own topic is gone: then the others need not wait.
func (d *delivery) askAgain(ctx context.Context, s *session, queues []*queue) {
	names := map[string]bool{}
	for _, q := range queues {
		names[q.target.topic] = true
	}
	failed := s.refresh(ctx, slices.Sorted(maps.Keys(names)))
	for _, q := range queues {
		if err := failed[q.target.topic]; q.own && err != nil && isAboutTopic(err) {
			d.giveUp(failure{q, err})
		}
	}
}

func (d *delivery) mayTryAgain(f failure) bool {
	q := f.queue
	q.err = f.err
	if q.failed++; q.failed == 1 {
		q.since = time.Now()
	}
	v := judge(f.err)
	return (v.class != ClassConfig || v.again) && v.class != ClassEvent && time.Since(q.since) < d.config.RetryFor
}

// giveUp ends a queue. What was never handed over stays Unsent, or, in the row's
// own topic, may be refused.
func (d *delivery) giveUp(f failure) {
	rest := d.end(f.queue)
	if f.queue.own && isAnswer(f.err) && judge(f.err).class != ClassEvent {
		d.refuse(f.queue.target, rest, f.err)
	} else {
		d.meet("send", f.err)
	}
}

// abandon ends all queues for a reason that is none of theirs.
func (d *delivery) abandon(doing string, err error) {
	d.meet(doing, err)
	for _, q := range d.queues {
		d.end(q)
	}
}

// end empties a queue and returns the events that were never handed over.
func (d *delivery) end(q *queue) (rest []int) {
	for i, c := range q.chunks {
		if i == 0 && c.maybe {
			d.settle(c.events, event.Outcome{Kind: event.Unknown})
			d.unclean = true
		} else {
			rest = append(rest, c.events...)
		}
	}
	q.chunks, q.err = nil, nil
	return rest
}

func (d *delivery) settle(events []int, o event.Outcome) {
	for _, i := range events {
		d.outcomes[i] = o
	}
}
