package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
	"github.com/relayfleet/relayfleet/relay/settings"
)

// ordered is what draining a table cost in one mode over one spread of keys.
type ordered struct {
	Keys string `json:"keys"`
	Mode string `json:"mode"`
	// Without a broker.
	PerSecond float64      `json:"eventsPerSecond"`
	Database  float64      `json:"eventsPerDatabaseCPUSecond"`
	Claims    int          `json:"claims"`
	Claim     *percentiles `json:"claimMilliseconds"`
	// WithBroker is a relay process with a broker.
	WithBroker float64 `json:"eventsPerSecondWithBroker"`
}

// spread is how the keys of a table's rows are chosen.
type spread struct {
	name string
	// before is run before the table is filled by insert.
	before, insert string
	// alsoInPlain are events of before that are published unless an order holds
	// them.
	alsoInPlain int
}

const (
	blockedKeys  = 1000
	rowsEach     = 20
	isNotBlocked = "status IN ('READY', 'INPROGRESS') AND key NOT LIKE 'blocked-%'"
)

// spreads leave the number of rows to be drained by order the same.
var spreads = []spread{
	{name: "10,000 keys", insert: insertEvents},
	{name: "half of one key", insert: `INSERT INTO outbox (event_id, key, payload)
		SELECT e.id, CASE e.place % 2 WHEN 0 THEN 'hot' ELSE e.key END, e.payload
		FROM unnest($1::uuid[], $2::text[], $3::bytea[]) WITH ORDINALITY AS e (id, key, payload, place) ORDER BY e.place`},
	{
		name: "1,000 keys blocked", insert: insertEvents, alsoInPlain: blockedKeys * rowsEach,
		before: fmt.Sprintf(`INSERT INTO outbox (event_id, key, payload, next_attempt_at)
			SELECT gen_random_uuid(), 'blocked-' || k, convert_to(repeat('x', %d), 'UTF8'),
				statement_timestamp() + CASE n WHEN 0 THEN interval '1 hour' ELSE interval '0' END
			FROM generate_series(0, %d) AS n, generate_series(1, %d) AS k`, payloadBytes, rowsEach, blockedKeys),
	},
}

// mode is a way to publish.
type mode struct {
	name     string
	order    rows.Order
	ordering settings.Ordering
}

var modes = []mode{
	{name: "any order"},
	{
		name: "by key", order: rows.Order{ByKey: true, Halt: true},
		ordering: settings.Ordering{Mode: settings.OrderKey, OnFailed: settings.Halt},
	},
}

// order measures what order by key costs.
func (b *bench) order(ctx context.Context) (err error) {
	b.cluster, err = kafka.Start(ctx, kafka.Options{DieWithCaller: true})
	if err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	defer func() { err = errors.Join(err, b.cluster.Remove(context.WithoutCancel(ctx))) }()
	if err := b.warmBroker(ctx); err != nil {
		return err
	}
	relay, err := newOurs(ctx, b.dir)
	if err != nil {
		return err
	}
	for _, keys := range spreads {
		for _, m := range modes {
			title := keys.name + ", " + m.name
			if !b.wants(title) {
				continue
			}
			o := ordered{Keys: keys.name, Mode: m.name}
			err := errors.Join(
				b.steps.Do("measure "+title+", without a broker", 0, func() error { return b.orderedIntoNothing(ctx, keys, m, &o) }),
				b.steps.Do("measure "+title, 0, func() error { return b.orderedToBroker(ctx, relay, keys, m, &o) }))
			if err != nil {
				return fmt.Errorf("measure %s: %w", title, err)
			}
			b.table.Orders = append(b.table.Orders, o)
		}
	}
	b.table.Notes = append(b.table.Notes, fmt.Sprintf("%d events; %d keys with %d rows each wait behind one that is due in an hour: "+
		"by key they stay, in any order they are published too.", b.events, blockedKeys, rowsEach))
	return b.report()
}

// fillSpread makes the table, and returns how many events are to be published.
func (s *stage) fillSpread(ctx context.Context, keys spread, m mode, events int) (int, error) {
	if err := s.createOutbox(ctx); err != nil {
		return 0, err
	}
	for _, index := range rows.OrderIndexes(outboxTable, outbox.Relayfleet(), m.order) {
		if err := s.exec(ctx, index.Create); err != nil {
			return 0, err
		}
	}
	if keys.before != "" {
		if err := s.exec(ctx, keys.before); err != nil {
			return 0, err
		}
	}
	if !m.order.ByKey {
		return events + keys.alsoInPlain, s.fill(ctx, keys.insert, events)
	}
	return events, s.fill(ctx, keys.insert, events)
}

func (b *bench) orderedIntoNothing(ctx context.Context, keys spread, m mode, o *ordered) (err error) {
	s, err := b.stage(ctx, nil, nil)
	if err != nil {
		return err
	}
	defer b.clear(ctx, s, &err)
	events, err := s.fillSpread(ctx, keys, m, b.events)
	if err != nil {
		return err
	}
	before, err := s.used(ownTime)
	if err != nil {
		return err
	}
	var t timings
	stop, err := s.startNull(ctx, t.events(1), rows.Config{Order: m.order})
	if err != nil {
		return err
	}
	defer stop()
	if err := t.awaitSent(ctx, events); err != nil {
		return err
	}
	after, err := s.used(ownTime)
	if err != nil {
		return err
	}
	if o.PerSecond, err = s.settleRate(ctx); err != nil {
		return err
	}
	claimed := newClaimed("", &t)
	o.Claims, o.Claim = claimed.Claims, claimed.Claim
	o.Database = newResult("", events, o.PerSecond, after.since(before)).Database
	return nil
}

func (b *bench) orderedToBroker(ctx context.Context, relay *ours, keys spread, m mode, o *ordered) (err error) {
	s, err := b.stage(ctx, b.cluster, nil)
	if err != nil {
		return err
	}
	defer b.clear(ctx, s, &err)
	reader, err := openTopic(b.cluster, s.topic)
	if err != nil {
		return err
	}
	defer reader.close()
	events, err := s.fillSpread(ctx, keys, m, b.events)
	if err != nil {
		return err
	}
	relay.ordering = m.ordering
	if err := relay.start(ctx, s); err != nil {
		return err
	}
	defer relay.stop(context.WithoutCancel(ctx)) //nolint:errcheck // The end below counts.
	if _, _, err := reader.reach(ctx, events); err != nil {
		return err
	}
	if err := s.awaitNone(ctx, isNotBlocked); err != nil {
		return err
	}
	if o.WithBroker, err = s.settleRate(ctx); err != nil {
		return err
	}
	return relay.stop(ctx)
}

// printOrders writes what the order costs.
func (t table) printOrders(w *tabwriter.Writer) {
	fmt.Fprintln(w, "\t\twithout a broker:\t\t\t\t\twith one:\t")
	fmt.Fprintln(w, "\t\tevents/s\tper database CPU-second\tclaims\tclaim ms p50\tp99\tevents/s\t")
	for _, o := range t.Orders {
		claim := orNone(o.Claim)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t\n", o.Keys, o.Mode, whole(o.PerSecond), whole(o.Database), o.Claims,
			tenths(claim.P50), tenths(claim.P99), whole(o.WithBroker))
	}
}
