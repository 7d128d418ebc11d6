package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// heldXmin measures claims at a steady rate while a transaction keeps the server
// from removing what they leave behind: before it, and for every window of it.
func (b *bench) heldXmin(ctx context.Context) (err error) {
	s, err := b.stage(ctx, nil, nil)
	if err != nil {
		return err
	}
	defer b.clear(ctx, s, &err)
	if err := s.createOutbox(ctx); err != nil {
		return err
	}
	var t timings
	stop, err := s.startNull(ctx, t.events(1), rows.Config{})
	if err != nil {
		return err
	}
	defer stop()
	writing, end := context.WithCancel(ctx)
	defer end()
	written := make(chan error, 1)
	go func() {
		committed := &commits{at: map[uuid.UUID]time.Time{}}
		written <- s.write(writing, insertEvents, b.rate, b.latencyFor()+2*window, committed)
	}()
	if err := b.windows(ctx, s, &t); err != nil {
		return err
	}
	end()
	if err := <-written; !errors.Is(err, context.Canceled) {
		return err
	}
	b.table.Notes = append(b.table.Notes, fmt.Sprintf("%d events/s, without a broker; autovacuum as PostgreSQL has it.", b.rate))
	return b.report()
}

func (b *bench) windows(ctx context.Context, s *stage, t *timings) error {
	if err := b.window(ctx, t, "before"); err != nil {
		return err
	}
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // It has only read.
	if _, err := tx.Exec(ctx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT FROM outbox LIMIT 1"); err != nil {
		return err
	}
	for held := window; held <= b.latencyFor(); held += window {
		if err := b.window(ctx, t, fmt.Sprintf("xmin held, to %.0f s", held.Seconds())); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) window(ctx context.Context, t *timings, title string) error {
	return b.steps.Do("measure claims "+title, window, func() error {
		t.take()
		if err := service.Sleep(ctx, window); err != nil {
			return err
		}
		b.table.Claims = append(b.table.Claims, newClaimed(title, t))
		return nil
	})
}
