package publish

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

var errClosed = errors.New("the producer is closed")

// Producer publishes the batches of one slot, one after another. Its methods may
// be called at any time; Publish and Probe wait for each other.
type Producer struct {
	config      Config
	partitioner *partitioner
	refusals    refusedTopics
	// throttled is until when a broker wants no requests, by its id.
	throttled map[int32]time.Time
	// turn is held by whoever uses session.
	turn    chan struct{}
	session *session
	helpers sync.WaitGroup
	// owned: nobody else has the credentials.
	owned bool

	mu     sync.Mutex
	closed bool
	// interrupt ends what is under way.
	interrupt context.CancelCauseFunc
}

// New checks the configuration. It needs no broker and starts nothing.
func New(c Config) (*Producer, error) {
	c, err := c.withDefaults()
	if err == nil {
		// Whatever sarama dislikes is found now and not at the first batch.
		err = c.sarama(newGate(c.RequestTimeout, nil), &login{}).Validate()
	}
	owned := c.Credentials == nil
	if err == nil && owned {
		c.Credentials, err = NewCredentials(c)
	}
	if err != nil {
		return nil, fmt.Errorf("configure the producer: %w", err)
	}
	return &Producer{
		config: c, partitioner: newPartitioner(), refusals: refusedTopics{}, throttled: map[int32]time.Time{},
		turn: make(chan struct{}, 1), owned: owned,
	}, nil
}

// Credentials are those of the configuration, or the producer's own. Somebody has
// to call their Refresh.
func (p *Producer) Credentials() *Credentials { return p.config.Credentials }

// Publish sends the events and returns one outcome for each, in their order. It
// returns at the deadline at the latest, whatever the network does, and writes
// nothing after it. When ctx ends first, that is as if the deadline had passed.
//
// The error is nil when the broker is not to blame: everything is published, or
// only records were refused, no time was left to begin, or this process stood still
// beyond the deadline. It is a *Problem when the broker or the fleet's topic is, and
// otherwise says why ctx ended.
func (p *Producer) Publish(ctx context.Context, b event.Batch, deadline *event.Deadline) ([]event.Outcome, error) {
	d := newDelivery(p.config, b.Events, p.refusals)
	if d.isDone() || deadline.Passed() {
		return d.outcomes, nil
	}
	bounded, end, err := p.begin(ctx, deadline)
	if err == nil {
		p.deliver(bounded, d, deadline)
		err = context.Cause(bounded)
		end()
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return d.outcomes, fmt.Errorf("publish: %w", err)
	}
	if d.problem != nil && !overslept(deadline) {
		return d.outcomes, d.problem
	}
	return d.outcomes, nil
}

// tooLate is far more than it takes to return after a deadline.
const tooLate = time.Second

// overslept: the deadline is so long over that the process must have been stopped
// meanwhile. What it meets when it goes on says nothing about the broker.
func overslept(deadline *event.Deadline) bool {
	return time.Now().Round(0).Sub(deadline.Time().Round(0)) > tooLate
}

func (p *Producer) deliver(ctx context.Context, d *delivery, deadline *event.Deadline) {
	if err := p.open(ctx, deadline); err != nil {
		d.meet("connect", err)
		p.hear(d.problem)
		p.discard()
		return
	}
	d.plan(ctx, p.session, p.partitioner)
	d.run(ctx, p.session)
	p.hear(d.problem)
	if d.unclean || !p.session.gate.isOpen() {
		p.discard()
	}
}

// Probe answers whether a batch could be published now, connecting when that is
// needed: the fleet's topic is there, its leaders can be reached, and the broker
// gives out producer ids. The error is a *Problem, or says why ctx ended.
func (p *Producer) Probe(ctx context.Context) error {
	at, ok := ctx.Deadline()
	if !ok {
		at = time.Now().Add(p.config.RequestTimeout + answerMargin)
	}
	deadline := event.NewDeadline(at)
	bounded, end, err := p.begin(ctx, deadline)
	if err != nil {
		return problemOf("probe", err)
	}
	defer end()

	used := p.session != nil
	err = p.probe(bounded, deadline)
	if err != nil && used && !isAnswer(err) && bounded.Err() == nil {
		// The old connections may have died with a broker that is back long since.
		p.discard()
		err = p.probe(bounded, deadline)
	}
	if err == nil {
		return nil
	}
	problem := problemOf("probe", err)
	p.hear(problem)
	p.discard()
	if cause := context.Cause(bounded); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("probe: %w", cause)
	}
	return problem
}

func (p *Producer) probe(ctx context.Context, deadline *event.Deadline) error {
	if err := p.open(ctx, deadline); err != nil {
		return err
	}
	return p.session.check(ctx, p.config.Topic)
}

// hear tells the session's login what the broker thinks of it.
func (p *Producer) hear(problem *Problem) {
	if p.session != nil && problem != nil && problem.Code == AuthenticationFailed {
		p.session.login.refused()
	}
}

// Close ends what is under way, as if its deadline had come, and the connections.
func (p *Producer) Close() {
	p.mu.Lock()
	p.closed = true
	if p.interrupt != nil {
		p.interrupt(errClosed)
	}
	p.mu.Unlock()
	p.turn <- struct{}{}
	p.discard()
	<-p.turn
	waitAtMost(p.config.RequestTimeout, &p.helpers)
	if p.owned {
		p.config.Credentials.Close()
	}
}

// begin waits for the turn; end gives it back. The context that it returns ends
// at the deadline, with ctx, and with Close.
func (p *Producer) begin(ctx context.Context, deadline *event.Deadline) (context.Context, func(), error) {
	bounded, cancel := deadline.Context(ctx)
	select {
	case p.turn <- struct{}{}:
	case <-bounded.Done():
		cancel()
		return nil, nil, fmt.Errorf("wait for the producer: %w", context.Cause(bounded))
	}
	bounded, interrupt := context.WithCancelCause(bounded)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interrupt = interrupt
	if p.closed {
		interrupt(errClosed)
	}
	return bounded, func() {
		interrupt(nil)
		cancel()
		<-p.turn
	}, nil
}

// open makes sure of a session with a producer id, usable until the deadline.
func (p *Producer) open(ctx context.Context, deadline *event.Deadline) error {
	if p.session != nil && p.config.Credentials.isStale(p.session.login) {
		p.discard()
	}
	if p.session != nil {
		p.session.gate.arm(deadline)
		return nil
	}
	l, err := p.config.Credentials.login(ctx)
	if err != nil {
		return err
	}
	s, err := newSession(p.config, l, &p.helpers)
	if err != nil {
		return err
	}
	p.session, s.throttled = s, p.throttled // A broker's wish outlives a connection.
	s.gate.arm(deadline)
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.identify(ctx); err != nil {
		return err
	}
	l.accepted()
	return nil
}

// discard ends the session. The next one has new connections and a new producer
// id: whatever of the old one may still be on its way counts for itself.
func (p *Producer) discard() {
	if p.session != nil {
		p.session.close()
		p.session = nil
	}
}
