package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

const (
	// oldRows are deleted, youngRows stay.
	oldRows, youngRows = 1_000_000, 200_000
	keepFor            = time.Hour
)

// retention measures claims at a steady rate before, while and after a relay
// deletes a million old rows.
func (b *bench) retention(ctx context.Context) (err error) {
	s, err := b.stage(ctx, nil, nil)
	if err != nil {
		return err
	}
	defer b.clear(ctx, s, &err)
	if err := b.steps.Do("put published rows in", time.Minute, func() error { return s.createAged(ctx) }); err != nil {
		return err
	}
	writing, end := context.WithCancel(ctx)
	defer end()
	written := make(chan error, 1)
	go func() {
		written <- s.write(writing, insertEvents, b.rate, time.Hour, &commits{at: map[uuid.UUID]time.Time{}})
	}()
	if err := b.aroundDelete(ctx, s); err != nil {
		return err
	}
	end()
	if err := <-written; !errors.Is(err, context.Canceled) {
		return err
	}
	if err := s.requirePurged(ctx); err != nil {
		return err
	}
	b.table.Notes = append(b.table.Notes, fmt.Sprintf("%d events/s, without a broker; autovacuum as PostgreSQL has it.", b.rate))
	return b.report()
}

// createAged makes a table with old and young published rows, and a FAILED one
// that is old as well.
func (s *stage) createAged(ctx context.Context) error {
	if err := s.createOutbox(ctx); err != nil {
		return err
	}
	index := rows.RetentionIndex(outboxTable, outbox.Relayfleet(), rows.Retention{}).Create
	if err := s.exec(ctx, index, "GRANT DELETE ON outbox TO "+relayRole); err != nil {
		return err
	}
	for _, n := range []int{oldRows, youngRows} {
		if _, err := s.pool.Exec(ctx, sentEvents, n); err != nil {
			return fmt.Errorf("put history in: %w", err)
		}
		if n == oldRows {
			if err := s.exec(ctx, "UPDATE outbox SET sent_at = sent_at - interval '1 day'", "VACUUM FULL ANALYZE outbox"); err != nil {
				return err
			}
		}
	}
	return s.exec(ctx, `INSERT INTO outbox (event_id, status, failed_at, created_at)
		VALUES (gen_random_uuid(), 'FAILED', now() - interval '1 day', now() - interval '1 day')`)
}

func (b *bench) aroundDelete(ctx context.Context, s *stage) error {
	var t timings
	stop, err := s.startNull(ctx, t.events(1), rows.Config{})
	if err != nil {
		return err
	}
	err = b.window(ctx, &t, "before")
	stop()
	if err != nil {
		return err
	}

	var deleted, batches atomic.Int64
	events := t.events(1)
	events.Purged = func(n int, _ time.Duration) { deleted.Add(int64(n)); batches.Add(1) }
	if stop, err = s.startNull(ctx, events, rows.Config{Retention: &rows.Retention{Window: keepFor}}); err != nil {
		return err
	}
	defer stop()
	await := func(n int64) error {
		for deleted.Load() < n {
			if err := service.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	}
	if err := await(1); err != nil {
		return err
	}
	t.take()
	begin := time.Now()
	err = b.steps.Do("measure claims beside the delete", 2*time.Minute, func() error { return await(oldRows) })
	if err != nil {
		return err
	}
	took := time.Since(begin)
	b.table.Claims = append(b.table.Claims, newClaimed("beside the delete", &t))
	b.table.Notes = append(b.table.Notes, fmt.Sprintf("%d rows were deleted in %.0f s by %d statements.", oldRows, took.Seconds(), batches.Load()))
	return b.window(ctx, &t, "after")
}

// requirePurged fails when the delete took what it must not.
func (s *stage) requirePurged(ctx context.Context) error {
	var old, young, failed int
	err := s.pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE status = 'SENT' AND sent_at < now() - interval '1 hour'),
		count(*) FILTER (WHERE status = 'SENT' AND generation = 1 AND payload = '{}'), count(*) FILTER (WHERE status = 'FAILED') FROM outbox`).
		Scan(&old, &young, &failed)
	if err != nil {
		return fmt.Errorf("count what is left: %w", err)
	}
	if old != 0 || young != youngRows || failed != 1 {
		return fmt.Errorf("the delete left %d old rows, %d of %d young ones and %d of 1 FAILED", old, young, youngRows, failed)
	}
	return nil
}
