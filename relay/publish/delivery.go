package publish

import (
	"context"
	"errors"
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
	own    bool
	chunks []*chunk
	// failed counts the failures in a row of the first chunk; the first was at
	// since, the last was err.
	failed int
	since  time.Time
	err    error
}

func newDelivery(c Config, events []event.Event) *delivery {
	d := &delivery{config: c, events: events, outcomes: make([]event.Outcome, len(events))}
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

// plan gives every event its partition, and makes the chunks.
func (d *delivery) plan(ctx context.Context, s *session, p *partitioner) {
	d.records = records(d.config.Headers, d.events, d.wants)
	places := map[target][]int{}
	topics := map[string]*topic{}
	var order []target
	for i := range d.events {
		if !d.wants(i) {
			continue
		}
		name := d.topicOf(i)
		t, known := topics[name]
		if !known {
			t = d.topicFor(ctx, s, name)
			topics[name] = t
		}
		if t == nil {
			continue
		}
		partition, err := p.choose(d.events[i].Key, recordSize(d.records[i]), t)
		if err != nil {
			d.meet("choose a partition", err)
			continue
		}
		to := target{name, partition}
		if places[to] == nil {
			order = append(order, to)
		}
		places[to] = append(places[to], i)
	}
	for _, to := range order {
		chunks := d.cut(places[to], topics[to.topic].limit)
		d.queues = append(d.queues, &queue{target: to, own: to.topic != d.config.Topic, chunks: chunks})
	}
}

func (d *delivery) topicOf(i int) string {
	if own := d.events[i].Topic; own != "" {
		return own
	}
	return d.config.Topic
}

// topicFor returns nil where the topic cannot be used, after it has noted what
// that means for the topic's events.
func (d *delivery) topicFor(ctx context.Context, s *session, name string) *topic {
	var t *topic
	err := error(sarama.ErrInvalidTopic)
	if name == d.config.Topic || isLegalName(name) {
		t, err = s.topic(ctx, name)
	}
	if err == nil {
		return t
	}
	if name != d.config.Topic && isAnswer(err) {
		outcome := ownTopicOutcome(err)
		for i := range d.events {
			if d.wants(i) && d.topicOf(i) == name {
				d.outcomes[i] = outcome
			}
		}
		return nil
	}
	d.meet("find the topic", err)
	return nil
}

// isAnswer: a broker has said so. Without an answer the trouble is the way to
// the broker, whichever topic it was for.
func isAnswer(err error) bool {
	var answer sarama.KError
	return errors.As(err, &answer) && judge(err).code != AuthenticationFailed
}

// ownTopicOutcome is what becomes of an event whose own topic cannot be used: it
// waits, as the topic may appear, and the others go on.
func ownTopicOutcome(err error) event.Outcome {
	v := judge(err)
	switch {
	case errors.Is(err, sarama.ErrInvalidTopic):
		return event.Outcome{Kind: event.Rejected, Reason: "the event's own topic has an invalid name"}
	case v.code == TopicMissing:
		return event.Outcome{Kind: event.Refused, Reason: "the event's own topic does not exist"}
	case v.code == TopicForbidden:
		return event.Outcome{Kind: event.Refused, Reason: "the broker does not let the relay write to the event's own topic"}
	default:
		return event.Outcome{Kind: event.Refused, Reason: "the event's own topic cannot be written to now"}
	}
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
			d.meet("send", q.err)
		}
	}
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
func (d *delivery) round(ctx context.Context, s *session) []failure {
	requests, failed := d.requests(ctx, s)
	for _, a := range s.exchange(ctx, requests) {
		if err := d.take(s, a); err != nil {
			failed = append(failed, failure{a.queue, err})
		}
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
	asked := map[string]bool{}
	for _, q := range again {
		if !asked[q.target.topic] {
			asked[q.target.topic] = true
			_, _ = s.refresh(ctx, q.target.topic) // The next round says what is still wrong.
		}
	}
	if renew {
		if err := s.identify(ctx); err != nil {
			d.meet("renew the producer id", err)
			d.abandon(err)
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
// own topic, is refused.
func (d *delivery) giveUp(f failure) {
	q := f.queue
	own := q.own && isAnswer(f.err) && judge(f.err).class != ClassEvent
	for i, c := range q.chunks {
		switch {
		case i == 0 && c.maybe:
			d.settle(c.events, event.Outcome{Kind: event.Unknown})
		case own:
			d.settle(c.events, ownTopicOutcome(f.err))
		}
	}
	d.unclean = true
	if !own {
		d.meet("send", f.err)
	}
	q.chunks = nil
}

// abandon ends all queues.
func (d *delivery) abandon(err error) {
	for _, q := range d.queues {
		if len(q.chunks) > 0 {
			d.giveUp(failure{q, err})
		}
	}
}

func (d *delivery) settle(events []int, o event.Outcome) {
	for _, i := range events {
		d.outcomes[i] = o
	}
}
