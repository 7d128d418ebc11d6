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
	held     map[string]bool
	sent     []string
	retried  []string
	failed   []string
	released []string
	// unanswered got only their attempt back.
	unanswered []string
	claims     int
	// claimErr and settleErr answer the next calls.
	claimErr, settleErr []error
	lease               time.Duration
}

func newFakeStore(ids ...string) *fakeStore {
	return &fakeStore{ready: ids, held: map[string]bool{}, lease: 30 * time.Second}
}

func next(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

func (s *fakeStore) Claim(_ context.Context, ask event.Ask) (event.Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims++
	if err := next(&s.claimErr); err != nil {
		return event.Batch{}, err
	}
	n := min(ask.Rows, len(s.ready))
	b := event.Batch{Started: time.Now(), Lease: s.lease}
	for _, id := range s.ready[:n] {
		b.Events = append(b.Events, event.Event{ID: id, Attempts: 1})
		s.held[id] = true
	}
	s.ready = s.ready[n:]
	return b, nil
}

func (s *fakeStore) Settle(ctx context.Context, b event.Batch, settlements []event.Settlement) (event.Settled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(ctx.Err(), next(&s.settleErr)); err != nil {
		return event.Settled{}, err
	}
	var done event.Settled
	for i, settlement := range settlements {
		id := b.Events[i].ID
		if settlement.Action == event.Leave {
			continue
		}
		if !s.held[id] || !time.Now().Before(leaseEnd(b)) {
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
			s.failed = append(s.failed, id)
			done.Failed++
		case event.Leave:
		}
	}
	return done, nil
}

func (s *fakeStore) Renew(context.Context, event.Batch) (event.Settled, error) {
	return event.Settled{}, errors.New("not used")
}

func (s *fakeStore) Release(_ context.Context, b event.Batch, events []int, cause event.ReleaseCause) (event.Settled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	calls  int
}

func (p *fakePublisher) Publish(ctx context.Context, b event.Batch, deadline *event.Deadline) ([]event.Outcome, error) {
	p.mu.Lock()
	p.calls++
	answer := p.answer
	p.mu.Unlock()
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
}

func (c *fakeCheck) check(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
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
