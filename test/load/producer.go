package load

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed place_orders.sql
	placeOrdersSQL string
	//go:embed place_events.sql
	placeEventsSQL string
)

// Plan says what a Producer writes. The zero value is usable.
type Plan struct {
	// Keys is how many keys the events are spread over; unset: 100.
	Keys int
	// PayloadBytes is the size of a payload; unset: 200.
	PayloadBytes int
	// EventsPerTransaction is how many orders a transaction of Run places;
	// unset: 5.
	EventsPerTransaction int
	// RollBack is the share of transactions that are rolled back, 0 to 0.9. As
	// soon as it is not 0, the first transaction is followed by one that is.
	RollBack float64
	// Hot is the share of events, 0 to 1, that go to the first of each writer's
	// keys, beside its usual turn.
	Hot float64
	// Delayed is the share of events, 0 to 1, that are due only later, by up to
	// MaxDelay: due times then do not rise with the ids.
	Delayed  float64
	MaxDelay time.Duration
	// Writers is how many connections Run and Burst use; unset: 2.
	Writers int
}

// burstChunk is how many events a transaction of Burst holds, at most.
const burstChunk = 5000

func (p Plan) withDefaults() Plan {
	setDefault(&p.Keys, 100)
	setDefault(&p.PayloadBytes, 200)
	setDefault(&p.EventsPerTransaction, 5)
	setDefault(&p.Writers, 2)
	p.RollBack = min(max(p.RollBack, 0), 0.9)
	return p
}

func setDefault(field *int, value int) {
	if *field <= 0 {
		*field = value
	}
}

// Producer commits orders and their events, and rolls some back.
//
// A key belongs to one writer of one call, which commits its events one
// transaction after the other: that is what makes "the order of the commits" a
// fact, which the checker holds the consumer's order against. Only a transaction
// whose end nobody knows may still commit beside the next one.
type Producer struct {
	tables Tables
	plan   Plan

	committed, rolledBack, failed atomic.Int64
}

// Produced counts what a Producer has done.
type Produced struct {
	// Committed and RolledBack count events.
	Committed, RolledBack int64
	// Failed counts events of transactions whose end nobody knows, because the
	// database failed: the orders tell.
	Failed int64
}

// NewProducer makes a producer that writes as plan says.
func NewProducer(tables Tables, plan Plan) *Producer {
	return &Producer{tables: tables, plan: plan.withDefaults()}
}

// Produced counts what was done so far.
func (p *Producer) Produced() Produced {
	return Produced{Committed: p.committed.Load(), RolledBack: p.rolledBack.Load(), Failed: p.failed.Load()}
}

// Burst commits that many events as fast as it can. The first error ends it.
func (p *Producer) Burst(ctx context.Context, events int) error {
	return p.write(ctx, func(ctx context.Context, w *writer, i int) error {
		share := events / p.plan.Writers
		if i < events%p.plan.Writers {
			share++
		}
		for share > 0 {
			n := min(share, burstChunk)
			if err := w.place(ctx, n); err != nil {
				return err
			}
			share -= n
		}
		return nil
	})
}

// Run commits events at that rate until ctx ends, which is no error. An error of
// the database costs the transaction, and Run goes on.
func (p *Producer) Run(ctx context.Context, perSecond float64) {
	_ = p.write(ctx, func(ctx context.Context, w *writer, _ int) error { // It ends with ctx alone.
		size := p.plan.EventsPerTransaction
		every := time.Duration(float64(size*p.plan.Writers) / perSecond * float64(time.Second))
		for next := time.Now(); ; next = laterOf(next.Add(every), time.Now().Add(-maxArrears)) {
			if err := sleepUntil(ctx, next); err != nil {
				return err
			}
			if w.place(ctx, size) != nil {
				next = time.Now().Add(afterFailure)
			}
		}
	})
}

const (
	// maxArrears is how far Run catches up after the database was slow.
	maxArrears = time.Second
	// afterFailure is how long Run leaves a database alone that has failed.
	afterFailure = 200 * time.Millisecond
)

// write runs one writer per connection and joins them.
func (p *Producer) write(ctx context.Context, do func(context.Context, *writer, int) error) error {
	call := rand.Text()[:6]
	errs := make([]error, p.plan.Writers)
	var writers sync.WaitGroup
	for i := range p.plan.Writers {
		w := &writer{Producer: p, name: fmt.Sprintf("%s-%d", call, i), owed: 1}
		writers.Go(func() { errs[i] = do(ctx, w, i) })
	}
	writers.Wait()
	return errors.Join(errs...)
}

// Commit places these events in one transaction.
func (p *Producer) Commit(ctx context.Context, events ...Event) error {
	return p.transaction(ctx, events, true)
}

// writer is one connection's share of a call.
type writer struct {
	*Producer
	name string
	next int
	// owed is how many transactions are still to be rolled back.
	owed float64
}

// place commits n events, and rolls back what is owed beside them.
func (w *writer) place(ctx context.Context, n int) error {
	if err := w.transaction(ctx, w.events(n), true); err != nil {
		return err
	}
	if w.plan.RollBack == 0 {
		return nil
	}
	for ; w.owed >= 1; w.owed-- {
		if err := w.transaction(ctx, w.events(n), false); err != nil {
			return err
		}
	}
	w.owed += w.plan.RollBack / (1 - w.plan.RollBack)
	return nil
}

// events are the next n of this writer, over its share of the keys.
func (w *writer) events(n int) []Event {
	keys := max(1, w.plan.Keys/w.plan.Writers)
	events := make([]Event, n)
	for i := range events {
		key := 0
		if mathrand.Float64() >= w.plan.Hot {
			key = w.next % keys
			w.next++
		}
		events[i] = NewEvent(fmt.Sprintf("%s-%d", w.name, key), w.plan.PayloadBytes)
		if mathrand.Float64() < w.plan.Delayed {
			events[i].Due = time.Duration(mathrand.Float64() * float64(w.plan.MaxDelay))
		}
	}
	return events
}

func (p *Producer) transaction(ctx context.Context, events []Event, commit bool) error {
	err := p.try(ctx, events, commit)
	counter := &p.rolledBack
	switch {
	case err != nil:
		counter = &p.failed
	case commit:
		counter = &p.committed
	}
	counter.Add(int64(len(events)))
	return err
}

// try places orders and events in one transaction. Arrays that are unnested are
// as fast as COPY here, and keep both inserts in one round trip.
func (p *Producer) try(ctx context.Context, events []Event, commit bool) error {
	tx, err := p.tables.pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("place orders: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // After a commit it does nothing.
	ids, keys := make([][16]byte, len(events)), make([]string, len(events))
	payloads, due := make([][]byte, len(events)), make([]float64, len(events))
	for i, e := range events {
		ids[i], keys[i], payloads[i], due[i] = e.ID, e.Key, e.Payload, e.Due.Seconds()
	}
	flush := &pgx.Batch{}
	flush.Queue(p.tables.sql(placeOrdersSQL), ids, keys)
	flush.Queue(p.tables.sql(placeEventsSQL), ids, keys, payloads, due)
	if err := tx.SendBatch(ctx, flush).Close(); err != nil {
		return fmt.Errorf("place orders: %w", err)
	}
	if !commit {
		return nil
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit orders: %w", err)
	}
	return nil
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func sleepUntil(ctx context.Context, at time.Time) error { return sleep(ctx, time.Until(at)) }

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
