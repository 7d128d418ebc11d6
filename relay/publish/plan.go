package publish

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/IBM/sarama"

	"github.com/relayfleet/relayfleet/relay/event"
)

// plan gives every event its partition, and makes the chunks.
func (d *delivery) plan(ctx context.Context, s *session, p *partitioner) {
	d.records = records(d.config.Headers, d.events, d.wants)
	topics := d.topics(ctx, s)
	places := map[target][]int{}
	var order []target
	for i := range d.events {
		name := d.topicOf(i)
		t := topics[name]
		if t == nil || !d.wants(i) {
			continue
		}
		partition, err := p.choose(d.events[i].Key, recordSize(d.records[i]), t)
		if err != nil {
			d.meet("choose a partition", err)
			continue
		}
		to := target{name, partition}
		if outcome, refused := d.refusals.of(to); refused {
			d.outcomes[i] = outcome
			continue
		}
		if places[to] == nil {
			order = append(order, to)
		}
		places[to] = append(places[to], i)
	}
	for _, to := range order {
		limit := topics[to.topic].limit
		d.queues = append(d.queues, &queue{target: to, own: to.topic != d.config.Topic, limit: limit, chunks: d.cut(places[to], limit)})
	}
	d.holdBack()
}

func (d *delivery) topicOf(i int) string {
	if own := d.events[i].Topic; own != "" {
		return own
	}
	return d.config.Topic
}

// topics looks up all topics of the events at once. Those that cannot be used are
// not among them; what that means for their events is noted.
func (d *delivery) topics(ctx context.Context, s *session) map[string]*topic {
	events := map[string][]int{}
	for i := range d.events {
		if d.wants(i) {
			name := d.topicOf(i)
			events[name] = append(events[name], i)
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(events)) {
		if outcome, unusable := d.unusable(name); unusable {
			d.settle(events[name], outcome)
		} else {
			names = append(names, name)
		}
	}
	found, failed := s.topicsNamed(ctx, names)
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		if err := failed[name]; name != d.config.Topic && isAnswer(err) {
			d.refuse(target{name, wholeTopic}, events[name], err)
		} else {
			d.meet("find the topic", err)
		}
	}
	return found
}

// unusable tells, without a broker, that an event's own topic cannot be written to.
func (d *delivery) unusable(name string) (event.Outcome, bool) {
	switch {
	case name == "":
		return event.Outcome{Kind: event.Rejected, Reason: "the event names no topic, and the fleet has none"}, true
	case name == d.config.Topic:
		return event.Outcome{}, false
	case !isLegalName(name):
		return ownTopicOutcome(sarama.ErrInvalidTopic), true
	default:
		return d.refusals.of(target{name, wholeTopic})
	}
}

// refuse notes that events cannot go to their own topic. If it is missing or
// forbidden that is theirs alone. Other answers can mean that the cluster is ill:
// they wait for conclude.
func (d *delivery) refuse(to target, events []int, err error) {
	if !isAboutTopic(err) {
		d.stuck = append(d.stuck, stuck{to, events, err})
		return
	}
	outcome := ownTopicOutcome(err)
	d.settle(events, outcome)
	d.refusals.add(target{to.topic, wholeTopic}, outcome)
}

// stuck is the rest of a queue of an own topic that could not be written to.
type stuck struct {
	target target
	events []int
	err    error
}

// conclude decides about own topics that could not be written to: when the
// cluster took records for other topics meanwhile these alone are ill, and else
// the cluster is, for which no event is charged.
func (d *delivery) conclude() {
	for _, f := range d.stuck {
		if !d.wroteBeside(f.target.topic) {
			d.meet("send", f.err)
			continue
		}
		outcome := ownTopicOutcome(f.err)
		d.settle(f.events, outcome)
		d.refusals.add(f.target, outcome)
	}
}

func (d *delivery) wroteBeside(topic string) bool {
	for i, o := range d.outcomes {
		if o.Kind == event.Published && d.topicOf(i) != topic {
			return true
		}
	}
	return false
}

// isAnswer: a broker has said so. Without an answer the trouble is the way to
// the broker, whichever topic it was for.
func isAnswer(err error) bool {
	var answer sarama.KError
	return errors.As(err, &answer) && judge(err).code != AuthenticationFailed
}

// isAboutTopic: a broker has said that somebody has to do something about the topic.
func isAboutTopic(err error) bool {
	code := judge(err).code
	return isAnswer(err) && (code == TopicMissing || code == TopicForbidden) && !errors.Is(err, sarama.ErrClusterAuthorizationFailed)
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

const (
	// refusedFor is how long a refusal of an own topic is believed. Meanwhile its
	// events cost the broker and the others nothing.
	refusedFor = 5 * time.Second
	// maxRefusals bounds what rows that name ever new topics can make a relay remember.
	maxRefusals = 10_000
	// wholeTopic stands for all partitions in a refusal.
	wholeTopic = -1
)

// refusedTopics remembers the own topics, or partitions of them, that could not be
// written to a moment ago. The fleet's own is never among them.
type refusedTopics map[target]refusedTopic

type refusedTopic struct {
	outcome event.Outcome
	until   time.Time
}

func (r refusedTopics) of(to target) (event.Outcome, bool) {
	known, ok := r[to]
	if !ok || time.Now().After(known.until) {
		return event.Outcome{}, false
	}
	return known.outcome, true
}

func (r refusedTopics) add(to target, o event.Outcome) {
	if len(r) >= maxRefusals {
		clear(r)
	}
	r[to] = refusedTopic{o, time.Now().Add(refusedFor)}
}
