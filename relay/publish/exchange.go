package publish

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	"github.com/relayfleet/relayfleet/relay/event"
)

// roundBytes bounds what a slot sends at a time, to all leaders together, so that
// what encoding takes stays small beside the payloads: sending holds up to four
// times as much (records, compressed records, the request). What does not fit goes
// in the next round; a single larger record goes alone.
const roundBytes = 4 << 20

// request is one produce request, to the leader of all its queues.
type request struct {
	leader  *sarama.Broker
	queues  []*queue
	produce *sarama.ProduceRequest
}

// answer is what came back for the first chunk of a queue; err is nil when it
// was appended.
type answer struct {
	queue *queue
	block *sarama.ProduceResponseBlock
	err   error
}

// requests groups the first chunks by leader, as many as fit into a round.
func (d *delivery) requests(ctx context.Context, s *session) ([]*request, []failure) {
	targets := make([]target, len(d.queues))
	for i, q := range d.queues {
		targets[i] = q.target
	}
	leaders, errs, err := s.leaders(ctx, targets)
	if err == nil && d.needsNewIdentity(s) {
		err = s.identify(ctx)
	}
	if err != nil {
		d.abandon("find the leaders", err)
		return nil, nil
	}
	var failed []failure
	var requests []*request
	byLeader := map[*sarama.Broker]*request{}
	size := 0
	for i, q := range d.queues {
		if errs[i] != nil {
			failed = append(failed, failure{q, errs[i]})
			continue
		}
		if size > 0 && size+q.chunks[0].size > roundBytes {
			continue
		}
		size += q.chunks[0].size
		r := byLeader[leaders[i]]
		if r == nil {
			r = d.newRequest(leaders[i])
			byLeader[leaders[i]] = r
			requests = append(requests, r)
		}
		r.add(s, q)
	}
	return requests, failed
}

// needsNewIdentity: the sequence numbers of a partition are about to run out.
func (d *delivery) needsNewIdentity(s *session) bool {
	for _, q := range d.queues {
		if int64(s.next[q.target])+int64(len(q.chunks[0].events)) > math.MaxInt32 {
			return true
		}
	}
	return false
}

func (d *delivery) newRequest(leader *sarama.Broker) *request {
	return &request{leader: leader, produce: &sarama.ProduceRequest{
		Version: 10, RequiredAcks: sarama.WaitForAll,
		Timeout: int32(min(d.config.RequestTimeout.Milliseconds(), math.MaxInt32)), //nolint:gosec // Bounded right here.
	}}
}

// add puts the first chunk of a queue into the request, numbered to follow what
// the partition has of this producer id.
func (r *request) add(s *session, q *queue) {
	c := q.chunks[0]
	if !c.maybe {
		c.by = s.id
		c.batch.ProducerID, c.batch.ProducerEpoch = s.id.id, s.id.epoch
		c.batch.FirstSequence = s.next[q.target]
	}
	r.queues = append(r.queues, q)
	r.produce.AddBatch(q.target.topic, q.target.partition, c.batch)
}

// exchange sends the requests side by side and returns an answer for each chunk.
func (s *session) exchange(ctx context.Context, requests []*request) []answer {
	replies := make([]chan reply, len(requests))
	for i, r := range requests {
		replies[i] = make(chan reply, 1)
		after := s.throttled[r.leader.ID()]
		s.helpers.Go(func() { replies[i] <- s.send(ctx, r, after) })
	}
	var answers []answer
	for i, r := range requests {
		got := <-replies[i]
		answers = append(answers, r.answers(got)...)
		if got.err == nil {
			s.throttle(r.leader.ID(), got.response.ThrottleTime)
		} else if ctx.Err() == nil {
			// The connection may be out of step; the next use opens another.
			_, _ = await(ctx, s, func() (struct{}, error) { return struct{}{}, r.leader.Close() })
		}
	}
	return answers
}

func (s *session) throttle(broker int32, d time.Duration) {
	if d > 0 {
		s.throttled[broker] = time.Now().Add(d)
	}
}

// reply is the end of a request: a response, or why there is none.
type reply struct {
	response *sarama.ProduceResponse
	err      error
}

// send hands one request over and waits for its response, until ctx ends. An
// error that is not an unsentError leaves open whether the broker has acted.
func (s *session) send(ctx context.Context, r *request, after time.Time) reply {
	// sarama would wait by itself for a throttling to end, but it knows no ctx.
	if wait := time.Until(after); wait > 0 && sleep(ctx, wait) != nil {
		return reply{err: unsentError{errors.New("throttled by the broker")}}
	}
	done := make(chan reply, 1)
	var begun atomic.Bool
	s.helpers.Go(func() {
		if err := connected(r.leader); err != nil {
			done <- reply{err: err}
			return
		}
		begun.Store(true)
		err := r.leader.AsyncProduce(r.produce, func(response *sarama.ProduceResponse, err error) {
			done <- reply{response, err}
		})
		if err != nil {
			// The request did not get out, or not all of it.
			done <- reply{err: unsentError{err}}
		}
	})
	select {
	case got := <-done:
		if !s.gate.isOpen() {
			s.gate.cut()
			return reply{err: errNoAnswer} // Too late to count.
		}
		return got
	case <-ctx.Done():
		s.gate.cut() // Before begun is read: what has not begun cannot begin any more.
		if !begun.Load() {
			return reply{err: unsentError{errNoAnswer}}
		}
		return reply{err: errNoAnswer}
	}
}

func (r *request) answers(got reply) []answer {
	answers := make([]answer, len(r.queues))
	for i, q := range r.queues {
		a := answer{queue: q, err: got.err}
		if got.err == nil {
			a.block = got.response.GetBlock(q.target.topic, q.target.partition)
			a.err = blockError(a.block)
		}
		answers[i] = a
	}
	return answers
}

func blockError(b *sarama.ProduceResponseBlock) error {
	switch {
	case b == nil:
		return sarama.ErrIncompleteResponse
	case errors.Is(b.Err, sarama.ErrNoError), errors.Is(b.Err, sarama.ErrDuplicateSequenceNumber):
		// No sequence number is ever used for two batches, so a duplicate is this
		// very batch, appended by a try whose answer was lost.
		return nil
	default:
		return b.Err
	}
}

// take applies an answer, and returns an error when the first chunk of the queue
// is still without an outcome.
func (d *delivery) take(s *session, a answer) error {
	q, c := a.queue, a.queue.chunks[0]
	if a.err == nil {
		d.settle(c.events, event.Outcome{Kind: event.Published})
		if c.by == s.id {
			s.next[q.target] = c.batch.FirstSequence + int32(len(c.events)) //nolint:gosec // needsNewIdentity keeps it below.
		}
		q.advance()
		return nil
	}
	switch v := judge(a.err); {
	case v.class == ClassUnknown:
		if !c.maybe {
			c.maybe = true
			d.settle(c.events, event.Outcome{Kind: event.Unknown})
		}
	case v.class == ClassEvent && !c.maybe:
		d.isolate(q, a, event.Outcome{Kind: v.kind, Reason: v.reason})
		return nil
	}
	return a.err
}

func (q *queue) advance() {
	q.chunks[0] = nil // It holds what it was encoded to.
	q.chunks = q.chunks[1:]
	q.failed, q.err = 0, nil
}

// isolate finds the records that a chunk was refused for: the broker names them,
// or the chunk is a single one, or its parts are tried. Nothing of the chunk
// was appended, so that its sequence numbers are free again.
func (d *delivery) isolate(q *queue, a answer, culprit event.Outcome) {
	c := q.chunks[0]
	q.advance()
	if q.mayFitAsItIs(c) && errors.Is(a.err, sarama.ErrMessageSizeTooLarge) {
		plain := d.rechunk(c.events)
		plain.batch.Codec = sarama.CompressionNone
		q.chunks = append([]*chunk{plain}, q.chunks...)
		return
	}
	named := namedRecords(a.block, len(c.events))
	if len(c.events) == 1 {
		named = map[int]bool{0: true}
	}
	if len(named) == 0 {
		var parts []*chunk
		for _, events := range d.split(c) {
			parts = append(parts, d.rechunk(events))
		}
		q.chunks = append(parts, q.chunks...)
		return
	}
	var others []int
	for i, at := range c.events {
		if named[i] {
			d.outcomes[at] = culprit
		} else {
			others = append(others, at)
		}
	}
	if len(others) > 0 {
		q.chunks = append([]*chunk{d.rechunk(others)}, q.chunks...)
	}
	d.isolated = true
}

// mayFitAsItIs: it is compression that makes a lone record, which cannot be
// compressed, a little larger than its topic allows.
func (q *queue) mayFitAsItIs(c *chunk) bool {
	return len(c.events) == 1 && c.batch.Codec != sarama.CompressionNone && c.size <= q.limit+batchOverhead+recordOverhead
}

// split makes halves of a chunk, or sets a record apart that is larger than all
// others together: most likely it is what was refused.
func (d *delivery) split(c *chunk) [][]int {
	for i, at := range c.events {
		if 2*recordSize(d.records[at]) > c.size {
			return slices.DeleteFunc([][]int{c.events[:i], {at}, c.events[i+1:]}, func(part []int) bool { return len(part) == 0 })
		}
	}
	middle := len(c.events) / 2
	return [][]int{c.events[:middle], c.events[middle:]}
}

// namedRecords are the places in the batch that the broker names (KIP-467); it
// may name none, and nonsense is ignored.
func namedRecords(b *sarama.ProduceResponseBlock, count int) map[int]bool {
	if b == nil {
		return nil
	}
	named := map[int]bool{}
	for _, e := range b.RecordErrors {
		if at := int(e.BatchIndex); at >= 0 && at < count {
			named[at] = true
		}
	}
	return named
}
