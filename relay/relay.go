package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Config is what a Relay needs. Required are Store, Abilities, Publishers, the
// checks, BatchSize and Retry.
type Config struct {
	Store Store
	// Abilities are what the store's table can record.
	Abilities event.Abilities
	// Publishers holds one publisher per slot.
	Publishers []Publisher
	// CheckDatabase and CheckBroker open the gates.
	CheckDatabase, CheckBroker Check
	// BatchSize is how many rows a claim takes at most.
	BatchSize int
	// MaxBytes bounds the payloads that the relay holds; unset: 32 MiB.
	MaxBytes int64
	// MaxClaim is how long a claim is renewed at most; unset: it is not renewed.
	MaxClaim time.Duration
	// Ordered: later events of a key must not come before earlier ones, so that no
	// release moves a due time.
	Ordered bool
	Retry   RetryPolicy
	// Hints says that there may be new rows, Hinted whether hints can be heard.
	// nil: nobody does.
	Hints  <-chan struct{}
	Hinted func() bool
	// Purge deletes published rows after their window; nil: they stay.
	Purge Purge
	// Grace is how long sends may go on after a stop; unset: 20 s. Settles have
	// SettleGrace more.
	Grace  time.Duration
	Events Events
}

const (
	defaultGrace    = 20 * time.Second
	defaultMaxBytes = 32 << 20
	// SettleGrace bounds what a stop waits for the database.
	SettleGrace = 5 * time.Second
	// claimTimeout is only a last resort: the store bounds a claim, and has the
	// server end it, well before; a claim that is given up may have committed.
	claimTimeout = 45 * time.Second
	sampleEvery  = 5 * time.Second
)

// Relay moves rows of one table to Kafka; see the package's text for the steps.
//
// It keeps I2 and I4 by its shape: the store's guard is the only way to record
// anything, and a batch reaches a slot only after its claim has committed.
// Several claimers in one relay were measured and lost: they contend for the
// same index pages, and the database is the bottleneck already with one.
type Relay struct {
	config   Config
	events   Events
	database *gate
	broker   *gate
	// claimed carries batches from the claimer to the slots. Unbuffered: a batch
	// that waits in a buffer only lets its lease run.
	claimed chan *tenure
	flight  *flight
	// claimedOnce and brokerOnce latch: see Ready.
	claimedOnce, brokerOnce atomic.Bool
	stopping                atomic.Bool
	witness                 witness
	// steps are all that Live looks at; claiming is the claimer's.
	steps    []*step
	claiming *step
	slots    []slotSteps
}

// slotSteps are those of one slot and its settler.
type slotSteps struct{ sending, settling *step }

// New returns a relay that does nothing yet.
func New(c Config) *Relay {
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultMaxBytes
	}
	events := Tee(c.Events)
	r := &Relay{
		config: c, events: events,
		database: newGate(Database, events), broker: newGate(Broker, events),
		claimed: make(chan *tenure), flight: &flight{told: events.Holding},
	}
	r.claiming = r.newStep()
	for range c.Publishers {
		r.slots = append(r.slots, slotSteps{r.newStep(), r.newStep()})
	}
	return r
}

// Ready says whether this relay has ever claimed from its table and reached its
// broker. Once true it stays so: an outage takes no relay away, but a roll-out
// to settings that cannot work does not go on.
func (r *Relay) Ready() bool { return r.claimedOnce.Load() && r.brokerOnce.Load() }

// Run works until ctx ends, then ends what is under way and returns.
func (r *Relay) Run(ctx context.Context) {
	work, endWork := r.workContext(ctx)
	defer endWork()

	var keepers, pipeline sync.WaitGroup
	keepers.Go(func() { r.database.keep(ctx, r.config.CheckDatabase) })
	keepers.Go(func() { r.broker.keep(ctx, r.checkBroker) })
	keepers.Go(func() { r.sample(ctx) })
	keepers.Go(func() { r.retain(ctx) })

	claimer := &claimer{Relay: r, giveBack: func(t *tenure) { r.giveBack(work, t) }}
	pipeline.Go(func() { claimer.run(ctx) })
	for i, p := range r.config.Publishers {
		done := make(chan published)
		pipeline.Go(func() { r.publish(work, p, r.slots[i].sending, done) })
		pipeline.Go(func() { r.settle(work, r.slots[i].settling, done) })
	}
	pipeline.Wait()
	keepers.Wait()
}

// workContext outlives ctx by the grace: what was begun may end.
func (r *Relay) workContext(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		r.stopping.Store(true)
		timer := time.AfterFunc(r.config.Grace, cancel)
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func() { stop(); cancel() }
}

func (r *Relay) checkBroker(ctx context.Context) error {
	err := r.config.CheckBroker(ctx)
	if err == nil {
		r.brokerOnce.Store(true)
	}
	return err
}

// sample looks at the backlog at once and then every few seconds.
func (r *Relay) sample(ctx context.Context) {
	for r.database.wait(ctx, true) == nil {
		b, err := r.config.Store.Backlog(ctx)
		switch {
		case err == nil:
			r.events.Sampled(b)
		case ctx.Err() == nil:
			r.events.Warned("look at the backlog", err)
		}
		if sleep(ctx, sampleEvery) != nil {
			return
		}
	}
}
