package relay

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

// fakeStore is an outbox in memory: enough of one to drive the pipeline. What a
// store must really do is tested on a real database, in outboxtest.
type fakeStore struct {
	mu       sync.Mutex
	ready    []string
	suspects []string
	// payload is what every event carries, which the byte budget of a claim bounds.
	payload int
	// attempts are those of every claimed event.
	attempts int
	held     map[string]time.Time
	sent     []string
	retried  []string
	failed   map[string]string
	released []string
	// unanswered got only their attempt back.
	unanswered []string
	claims     int
	asked      []event.Ask
	// claimErr, settleErr, renewErr and releaseErr answer the next calls.
	claimErr, settleErr, renewErr, releaseErr []error
	// renew answers a renewal in place of the store, if it is set.
	renew func(ctx context.Context) (event.Settled, error)
	// renewed counts renewals; busy is set during one, contended if somebody else
	// came in between.
	renewed         int
	busy, contended bool
	lease           time.Duration
	// othersSuspects: suspects wait that another relay holds.
	othersSuspects bool
	// claimTakes is how long a claim takes. away: nothing but claims is answered.
	claimTakes time.Duration
	// hang keeps claims until it is closed.
	hang   chan struct{}
	away   bool
	causes []event.ReleaseCause
}

var errAway = errors.New("the database is away")

func newFakeStore(ids ...string) *fakeStore {
	return &fakeStore{ready: ids, held: map[string]time.Time{}, failed: map[string]string{}, attempts: 1, lease: 30 * time.Second}
}

func next(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

func (s *fakeStore) Claim(ctx context.Context, ask event.Ask) (event.Batch, error) {
	time.Sleep(s.claimTakes)
	if ctx.Err() != nil {
		return event.Batch{}, ctx.Err()
	}
	if s.hang != nil {
		<-s.hang
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims++
	s.asked = append(s.asked, ask)
	if err := next(&s.claimErr); err != nil {
		return event.Batch{}, err
	}
	from := &s.ready
	if ask.Suspects {
		from = &s.suspects
	}
	n := min(ask.Rows, len(*from))
	if s.payload > 0 {
		n = min(n, max(1, int(ask.Bytes)/s.payload))
	}
	b := event.Batch{Started: time.Now(), Lease: s.lease, Lone: ask.Suspects && n == 1}
	for _, id := range (*from)[:n] {
		b.Events = append(b.Events, event.Event{ID: id, Attempts: s.attempts, Payload: make([]byte, s.payload)})
		s.held[id] = leaseEnd(b)
	}
	*from = (*from)[n:]
	b.SuspectsWait = len(s.suspects) > 0 || s.othersSuspects
	return b, nil
}

func (s *fakeStore) Settle(ctx context.Context, b event.Batch, settlements []event.Settlement) (event.Settled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contended = s.contended || s.busy
	if s.away {
		return event.Settled{}, errAway
	}
	if err := errors.Join(ctx.Err(), next(&s.settleErr)); err != nil {
		return event.Settled{}, err
	}
	var done event.Settled
	for i, settlement := range settlements {
		id := b.Events[i].ID
		if settlement.Action == event.Leave {
			continue
		}
		if !time.Now().Before(s.held[id]) {
			done.Stale++
			continue
		}
		delete(s.held, id)
		switch settlement.Action {
		case event.Sent:
			s.sent = append(s.sent, id)
			done.Sent++
		case event.Retry:
			s.retried = append(s.retried, id)
			done.Retried++
		case event.Fail:
			s.failed[id] = settlement.Reason
			done.Failed++
		case event.Leave:
		}
	}
	return done, nil
}

func (s *fakeStore) Renew(ctx context.Context, b event.Batch) (event.Settled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewed++
	if s.renew != nil {
		s.busy = true
		s.mu.Unlock()
		done, err := s.renew(ctx)
		s.mu.Lock()
		s.busy = false
		return done, err
	}
	if err := errors.Join(ctx.Err(), next(&s.renewErr)); err != nil {
		return event.Settled{}, err
	}
	var done event.Settled
	for i := range b.Events {
		id := b.Events[i].ID
		if !time.Now().Before(s.held[id]) {
			done.Stale++
			continue
		}
		s.held[id] = time.Now().Add(s.lease)
		done.Renewed++
	}
	return done, nil
}

func (s *fakeStore) Release(ctx context.Context, b event.Batch, events []int, cause event.ReleaseCause) (event.Settled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contended = s.contended || s.busy
	if s.away {
		return event.Settled{}, errAway
	}
	if err := errors.Join(ctx.Err(), next(&s.releaseErr)); err != nil {
		return event.Settled{}, err
	}
	s.causes = append(s.causes, cause)
	for _, i := range events {
		id := b.Events[i].ID
		if cause == event.Unanswered {
			s.unanswered = append(s.unanswered, id)
			continue
		}
		delete(s.held, id)
		s.released = append(s.released, id)
		s.ready = append(s.ready, id)
	}
	return event.Settled{Released: len(events)}, nil
}

func (s *fakeStore) Backlog(context.Context) (event.Backlog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return event.Backlog{SampledAt: time.Now(), Eligible: len(s.ready), Cap: 1000}, nil
}

func (s *fakeStore) snapshot() (sent, released, unanswered []string, claims int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent), slices.Clone(s.released), slices.Clone(s.unanswered), s.claims
}

// fakePublisher answers with what answer says, after took.
type fakePublisher struct {
	took   time.Duration
	mu     sync.Mutex
	answer func(b event.Batch) ([]event.Outcome, error)
	// during is called when a batch begins and when it ends.
	during func(b event.Batch, begin bool)
	calls  int
}

func (p *fakePublisher) tell(b event.Batch, begin bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.during != nil {
		p.during(b, begin)
	}
}

func (p *fakePublisher) Publish(ctx context.Context, b event.Batch, deadline *event.Deadline) ([]event.Outcome, error) {
	p.mu.Lock()
	p.calls++
	answer := p.answer
	p.mu.Unlock()
	p.tell(b, true)
	defer p.tell(b, false)
	ctx, cancel := deadline.Context(ctx)
	defer cancel()
	select {
	case <-time.After(p.took):
	case <-ctx.Done():
		return make([]event.Outcome, len(b.Events)), ctx.Err()
	}
	if answer != nil {
		return answer(b)
	}
	return allOfKind(b, event.Published), nil
}

func allOfKind(b event.Batch, kind event.OutcomeKind) []event.Outcome {
	outcomes := make([]event.Outcome, len(b.Events))
	for i := range outcomes {
		outcomes[i].Kind = kind
	}
	return outcomes
}

// fakeCheck fails while it is broken.
type fakeCheck struct {
	mu     sync.Mutex
	broken error
	asked  int
	// hangsAfter is how many checks are answered; 0: all.
	hangsAfter int
}

func (c *fakeCheck) check(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if c.hangsAfter > 0 && c.asked > c.hangsAfter {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.broken
}

func (c *fakeCheck) set(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = err
}

func (c *fakeCheck) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}
