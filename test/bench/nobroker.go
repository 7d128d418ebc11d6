package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/relay"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// nullName is the relay whose publisher answers at once: what the database
// allows.
const nullName = "relay without a broker"

// instant is a broker that costs nothing.
type instant struct{}

func (instant) Publish(_ context.Context, batch event.Batch, _ *event.Deadline) ([]event.Outcome, error) {
	outcomes := make([]event.Outcome, len(batch.Events))
	for i := range outcomes {
		outcomes[i].Kind = event.Published
	}
	return outcomes, nil
}

// timings are what a relay in this program tells of its statements.
type timings struct {
	mu              sync.Mutex
	claims, settles []time.Duration
	// sent counts the events that were settled as published.
	sent int
	// ages are how old the oldest event of each claim was.
	ages []time.Duration
}

// take returns what was noted since the last call.
func (t *timings) take() (claims, settles, ages []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	claims, settles, ages = t.claims, t.settles, t.ages
	t.claims, t.settles, t.ages = nil, nil, nil
	return claims, settles, ages
}

// events notes claims of at least that many rows, and settles.
func (t *timings) events(atLeast int) relay.Events {
	return relay.Events{
		Claimed: func(b event.Batch, took time.Duration) {
			if len(b.Events) < atLeast {
				return
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			t.claims, t.ages = append(t.claims, took), append(t.ages, b.Events[0].Age)
		},
		Settled: func(_ event.Batch, done event.Settled, took time.Duration) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.sent += done.Sent
			t.settles = append(t.settles, took)
		},
	}
}

// awaitSent waits until that many events are settled. It asks the relay, not the
// table: a look for what is unsent would read all that is sent.
func (t *timings) awaitSent(ctx context.Context, events int) error {
	last, moved := 0, time.Now()
	for {
		t.mu.Lock()
		sent := t.sent
		t.mu.Unlock()
		if sent >= events {
			return nil
		}
		if sent != last {
			last, moved = sent, time.Now()
		}
		if time.Since(moved) > patience {
			return fmt.Errorf("%d of %d events were settled, and then no more", sent, events)
		}
		if err := service.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// startNull runs a relay without a broker in this program until the returned
// function is called. Of want it takes order and retention.
func (s *stage) startNull(ctx context.Context, listener relay.Events, want rows.Config) (stop func(), err error) {
	uri, err := s.uriFile(relayRole)
	if err != nil {
		return nil, err
	}
	db, err := outbox.Open(outbox.Config{URIFile: uri, CAFile: s.server.CAFile()}) //nolint:contextcheck // Opening connects nowhere.
	if err != nil {
		return nil, err
	}
	store, err := rows.New(db, rows.Config{Table: outboxTable, Mapping: outbox.Relayfleet(), Lease: lease, Order: want.Order, Retention: want.Retention})
	if err != nil {
		return nil, err
	}
	var purge relay.Purge
	if want.Retention != nil {
		purge = store.Purge
	}
	r := relay.New(relay.Config{
		Store: store, Publishers: []relay.Publisher{instant{}},
		CheckDatabase: db.Refresh,
		CheckBroker:   func(context.Context) error { return nil },
		BatchSize:     batchSize,
		Ordered:       want.Order.ByKey,
		Purge:         purge,
		Events:        listener,
	})
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(running) }()
	return func() { cancel(); <-ended; db.Close() }, nil
}

// withoutBroker drains a table into nothing.
func (b *bench) withoutBroker(ctx context.Context) (r result, err error) {
	s, err := b.stage(ctx, nil, nil)
	if err != nil {
		return r, err
	}
	defer b.clear(ctx, s, &err)
	if err := s.createOutbox(ctx); err != nil {
		return r, err
	}
	if err := s.fill(ctx, insertEvents, b.events); err != nil {
		return r, err
	}
	before, err := s.used(ownTime)
	if err != nil {
		return r, err
	}
	var t timings
	stop, err := s.startNull(ctx, t.events(batchSize), rows.Config{})
	if err != nil {
		return r, err
	}
	defer stop()
	if err := t.awaitSent(ctx, b.events); err != nil {
		return r, err
	}
	after, err := s.used(ownTime)
	if err != nil {
		return r, err
	}
	rate, err := s.settleRate(ctx)
	return newResult(nullName, b.events, rate, after.since(before)), err
}
