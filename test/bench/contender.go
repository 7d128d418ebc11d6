package main

import (
	"context"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
)

// contender moves events from a table to a topic: the relay, or one of its peers.
type contender interface {
	name() string
	// serverSettings are what it needs of the database's server.
	serverSettings() map[string]string
	// insert is the statement that puts events into its table: $1 are identities,
	// $2 keys, $3 payloads.
	insert() string
	// prepare makes the table, and whatever may be done before there is work. It
	// returns how many events it has published itself, to be warm.
	prepare(ctx context.Context, s *stage) (events int, err error)
	// start lets it work.
	start(ctx context.Context, s *stage) error
	// settled waits for what it has to do after all is published. It returns the
	// rate of the whole by its own count; 0 leaves that to the topic.
	settled(ctx context.Context, s *stage) (perSecond float64, err error)
	// process is what start or prepare has started.
	process() service.Process
	stop(ctx context.Context) error
}

// run measures a contender: how fast it drains a full table, and then how long
// an event takes at a steady rate.
func (b *bench) run(ctx context.Context, c contender) (r result, err error) {
	s, err := b.stage(ctx, b.cluster, c.serverSettings())
	if err != nil {
		return r, err
	}
	defer b.clear(ctx, s, &err)
	reader, err := openTopic(b.cluster, s.topic)
	if err != nil {
		return r, err
	}
	defer reader.close()
	defer c.stop(context.WithoutCancel(ctx)) //nolint:errcheck // The end below counts.

	warm, err := c.prepare(ctx, s)
	if err != nil {
		return r, err
	}
	if err := s.fill(ctx, c.insert(), b.events); err != nil {
		return r, err
	}
	if r, err = b.drain(ctx, s, c, reader, warm); err != nil {
		return r, err
	}
	late, sent, err := b.latency(ctx, s, c.insert(), reader)
	if err != nil {
		return r, err
	}
	r.Latency = percentilesOf(late)
	resident, err := maxResident(c.process().PID)
	if err != nil {
		return r, err
	}
	r.ResidentMB = float64(resident) / (1 << 20)
	if err := c.stop(ctx); err != nil {
		return r, err
	}
	return r, reader.check(ctx, warm+b.events+sent)
}

// drain measures from the start of c to the last event's end; the rate leaves
// out what comes before the first event, which is the start of a process.
func (b *bench) drain(ctx context.Context, s *stage, c contender, reader *topic, warm int) (r result, err error) {
	used := func() (time.Duration, error) {
		if c.process().PID == 0 {
			return 0, nil
		}
		return processTime(c.process().PID)
	}
	before, err := s.used(used)
	if err != nil {
		return r, err
	}
	if err := c.start(ctx, s); err != nil {
		return r, err
	}
	first, began, err := reader.reach(ctx, warm+1)
	if err != nil {
		return r, err
	}
	last, ended, err := reader.reach(ctx, warm+b.events)
	if err != nil {
		return r, err
	}
	perSecond, err := c.settled(ctx, s)
	if err != nil {
		return r, err
	}
	if perSecond == 0 {
		perSecond = float64(last-first) / ended.Sub(began).Seconds()
	}
	after, err := s.used(used)
	return newResult(c.name(), b.events, perSecond, after.since(before)), err
}
