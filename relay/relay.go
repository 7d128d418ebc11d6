package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Config is what a Relay needs. All but Events, Grace and Purge is required.
type Config struct {
	Store Store
	// Publishers holds one publisher per slot.
	Publishers []Publisher
	// CheckDatabase and CheckBroker open the gates.
	CheckDatabase, CheckBroker Check
	// BatchSize is how many rows a claim takes at most.
	BatchSize int
	// BatchBytes bounds the payloads of one claim; unset: 8 MiB.
	BatchBytes int64
	Retry      RetryPolicy
	// Purge deletes published rows after their window; nil: they stay.
	Purge Purge
	// Grace is how long sends may go on after a stop; unset: 20 s. Settles have
	// SettleGrace more.
	Grace  time.Duration
	Events Events
}

const (
	defaultGrace      = 20 * time.Second
	defaultBatchBytes = 8 << 20
	// SettleGrace bounds what a stop waits for the database.
	SettleGrace = 5 * time.Second
	// claimTimeout is only a last resort: the store has the server end a claim
	// well before, because a claim that the client gives up may have committed.
	claimTimeout = 20 * time.Second
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
	claimed chan event.Batch
	// claimedOnce and brokerOnce latch: see Ready.
	claimedOnce, brokerOnce atomic.Bool
	stopping                atomic.Bool
}

// New returns a relay that does nothing yet.
func New(c Config) *Relay {
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	if c.BatchBytes == 0 {
		c.BatchBytes = defaultBatchBytes
	}
	events := Tee(c.Events)
	return &Relay{
		config: c, events: events,
		database: newGate(Database, events), broker: newGate(Broker, events),
		claimed: make(chan event.Batch),
	}
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

	pipeline.Go(func() { r.claim(ctx) })
	for _, p := range r.config.Publishers {
		done := make(chan published)
		pipeline.Go(func() { r.publish(work, p, done) })
		pipeline.Go(func() { r.settle(work, done) })
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
