package integration

import (
	"context"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
	"github.com/relayfleet/relayfleet/relay/settings"
	"github.com/relayfleet/relayfleet/test/load"
)

// Four relay processes publish by key while produce requests fail in every way,
// relays are killed, frozen beyond their lease and stopped, some rows are due
// late, and FAILED ones are repaired: no event first appears after a later one of
// its key, and none is passed by.
func TestOrderByKeyThatHalts(t *testing.T) {
	t.Parallel()
	o := newOrdered(t, settings.Halt)
	o.begin()
	o.replay()
	for range 2 {
		o.kill(0)
		o.freeze(1)
		o.terminate(2)
		o.kill(3)
	}
	o.end()
	v := o.verdict()
	require.Zero(t, v.Failed+v.Skipped)
	require.Positive(t, o.replayed)
	o.requireFaults()
}

// The same, where FAILED events may be passed by, and are.
func TestOrderByKeyThatSkips(t *testing.T) {
	t.Parallel()
	o := newOrdered(t, settings.Skip)
	o.begin()
	for range 2 {
		o.terminate(0)
		o.kill(1)
		o.freeze(2)
		o.kill(3)
	}
	o.end()
	v := o.verdict()
	require.Positive(t, v.Skipped)
	o.requireFaults()
}

// ordered is a fleet of four relays that keep an order, each with a link to the
// broker of its own.
type ordered struct {
	*fleet
	halt   bool
	links  []*link
	relays []*relay
	sends  produceFaults
	// stop ends the load; stopReplay the repairs.
	stop       func() load.Produced
	stopReplay func()
	// calmed ends the recorded fault of the produce requests.
	calmed   func()
	replayed int
	struck   map[string]int
}

func newOrdered(t *testing.T, onFailed settings.OnFailed) *ordered {
	t.Helper()
	o := &ordered{fleet: newFleet(t), halt: onFailed == settings.Halt, struck: map[string]int{}, stopReplay: func() {}}
	o.settings.Ordering = settings.Ordering{Mode: settings.OrderKey, OnFailed: onFailed}
	o.settings.BatchSize = 40
	o.settings.Retry = settings.Retry{MaxAttempts: 1000, BackoffSeconds: 1, MaxBackoffSeconds: 2}
	for _, index := range rows.OrderIndexes(o.tables.Outbox(), outbox.Relayfleet(), rows.Order{ByKey: true, Halt: o.halt}) {
		o.exec(index.Create)
	}
	o.sends.counts = map[fate]int{}
	for range 4 {
		o.links = append(o.links, newLink(t, broker.Addresses()[0], &o.sends))
	}
	return o
}

// begin starts the relays, the consumer, the load and the failures of produce requests.
func (o *ordered) begin() {
	o.t.Helper()
	o.relays = make([]*relay, len(o.links))
	for i := range o.links {
		o.launch(i)
	}
	for _, r := range o.relays {
		r.awaitRunning()
	}
	o.consume()
	o.stop = o.produceAs(load.Plan{
		Keys: 100, Hot: 0.3, Delayed: 0.05, MaxDelay: time.Second, EventsPerTransaction: 3, Writers: 3, RollBack: 0.1,
	}, 300)
	o.calmed = o.faults.Begin("produce requests fail", "all")
	o.sends.set(fates{cutBefore: 2, cutAfter: 2, refused: 3, rejected: 2})
}

// launch starts the relay at place i.
func (o *ordered) launch(i int) {
	o.t.Helper()
	o.settings.Kafka.BootstrapServers = []string{o.links[i].address()}
	o.relays[i] = o.start()
}

// end stops the load and all failures.
func (o *ordered) end() {
	o.stop()
	o.sends.set(nil)
	o.calmed()
}

// verdict waits for the end of the load. What is FAILED is repaired before, or may stay.
func (o *ordered) verdict() load.Verdict {
	o.t.Helper()
	if o.halt {
		o.becomesTrue("SELECT NOT EXISTS (SELECT 1 FROM outbox WHERE status <> 'SENT')", soon)
		o.stopReplay()
	}
	checker := o.checker()
	v, err := checker.Await(o.t.Context(), patience)
	require.NoError(o.t, err)
	v.MayFail = v.Failed
	o.t.Log(v)
	require.NoError(o.t, v.Err())
	return v
}

func (o *ordered) checker() load.Checker {
	return load.Checker{Tables: o.tables, Faults: &o.faults, Lease: o.lease, Ordered: true, MaySkip: !o.halt}
}

// requireFaults: everything that was to happen has happened.
func (o *ordered) requireFaults() {
	o.t.Helper()
	o.t.Logf("produce requests: %v; relays: %v; repaired: %d; tried again: %d; claimed again: %d", o.sends.counts, o.struck,
		o.replayed, o.count("attempts > 1"), o.count("generation > 1"))
	for _, f := range []fate{cutBefore, cutAfter, refused, rejected} {
		require.Positive(o.t, o.sends.count(f), "%s", f)
	}
	require.Positive(o.t, o.count("attempts > 1"))
}

// kill ends a relay by SIGKILL while the broker's answer is on its way, and starts another.
func (o *ordered) kill(i int) {
	o.t.Helper()
	release := o.links[i].catch(o.t)
	o.faults.Record("kill", o.relays[i].Name)
	require.NoError(o.t, o.relays[i].Signal(syscall.SIGKILL))
	require.Equal(o.t, 137, o.relays[i].awaitExit())
	release()
	o.struck["killed"]++
	o.launch(i)
}

// terminate ends a relay by SIGTERM while the broker's answer is on its way, and starts another.
func (o *ordered) terminate(i int) {
	o.t.Helper()
	release := o.links[i].catch(o.t)
	require.NoError(o.t, o.relays[i].Signal(syscall.SIGTERM))
	release()
	require.Zero(o.t, o.relays[i].awaitExit())
	o.struck["terminated"]++
	o.launch(i)
}

// freeze stops a relay, while the broker's answer is on its way, until others
// have taken over all that it held, and thaws it.
func (o *ordered) freeze(i int) {
	o.t.Helper()
	release := o.links[i].catch(o.t)
	require.NoError(o.t, o.relays[i].Freeze(o.t.Context()))
	thawed := o.faults.Begin("freeze", o.relays[i].Name)
	release()
	var held []string
	require.NoError(o.t, o.owner.QueryRow(o.t.Context(),
		"SELECT array_agg(claim_token::text) FROM outbox WHERE status = 'INPROGRESS'").Scan(&held))
	require.NotEmpty(o.t, held)
	require.Eventually(o.t, func() bool {
		return o.count("status = 'INPROGRESS' AND claim_token = ANY ($1::text[]::uuid[])", held) == 0
	}, soon, often)
	require.NoError(o.t, o.relays[i].Thaw())
	thawed()
	o.struck["frozen"]++
}

// replay repairs what has FAILED, as an operator does, again and again.
func (o *ordered) replay() {
	o.t.Helper()
	db, err := outbox.Open(outbox.Config{URIFile: filepath.Join(o.dir, "uri"), CAFile: filepath.Join(o.dir, "ca.crt")})
	require.NoError(o.t, err)
	store, err := rows.New(db, rows.Config{Table: o.tables.Outbox(), Mapping: outbox.Relayfleet(), Lease: o.lease})
	require.NoError(o.t, err)
	ended := make(chan struct{})
	var ending sync.WaitGroup
	ending.Go(func() {
		defer db.Close()
		for {
			select {
			case <-ended:
				return
			case <-time.After(300 * time.Millisecond):
				o.replayFailed(store)
			}
		}
	})
	o.stopReplay = sync.OnceFunc(func() { close(ended); ending.Wait() })
	o.t.Cleanup(o.stopReplay)
}

func (o *ordered) replayFailed(store *rows.Store) {
	found, err := o.owner.Query(context.Background(), "SELECT id::text, '', now() FROM outbox WHERE status = 'FAILED'")
	if err != nil {
		return // The test ends; what stays FAILED is seen.
	}
	var failed []rows.Key
	var key rows.Key
	var by time.Time
	_, err = pgx.ForEachRow(found, []any{&key.ID, &key.Partition, &by}, func() error {
		failed = append(failed, key)
		return nil
	})
	if err != nil {
		return
	}
	if replayed, err := store.Replay(context.Background(), failed, by); err == nil {
		o.replayed += len(replayed)
	}
}
