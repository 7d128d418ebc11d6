package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// The two changes that a guarded claim loop cannot do without, stripped of all
// that makes them safe.
const (
	plainClaim  = "UPDATE outbox SET status = 'INPROGRESS', lease_until = now() + interval '30 seconds' WHERE id = ANY ($1::bigint[])"
	plainSettle = "UPDATE outbox SET status = 'SENT', lease_until = NULL, sent_at = now() WHERE id = ANY ($1::bigint[])"
)

// updates measures the bound that the database sets: one connection does both
// changes in turn, or one does the first and another the second behind it, as
// the relay overlaps claims and settles.
func (b *bench) updates(ctx context.Context) error {
	one := func() (result, error) { return b.bound(ctx, "two UPDATEs, 1 connection", inTurn) }
	two := func() (result, error) { return b.bound(ctx, "two UPDATEs, 2 connections", overlapping) }
	if err := b.repeat(ctx, "two UPDATEs, 1 connection", one); err != nil {
		return err
	}
	return b.repeat(ctx, "two UPDATEs, 2 connections", two)
}

// bound measures change, which gets the ids of all rows.
func (b *bench) bound(ctx context.Context, name string, change func(context.Context, *stage, []int64) error) (r result, err error) {
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
	rows, _ := s.pool.Query(ctx, "SELECT id FROM outbox ORDER BY next_attempt_at, id") // CollectRows has the error.
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return r, fmt.Errorf("read ids: %w", err)
	}
	before, err := s.used(ownTime)
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := change(ctx, s, ids); err != nil {
		return r, err
	}
	took := time.Since(began)
	after, err := s.used(ownTime)
	return newResult(name, b.events, float64(b.events)/took.Seconds(), after.since(before)), err
}

func inTurn(ctx context.Context, s *stage, ids []int64) error {
	for batch := range slices.Chunk(ids, batchSize) {
		if err := s.update(ctx, plainClaim, batch); err != nil {
			return err
		}
		if err := s.update(ctx, plainSettle, batch); err != nil {
			return err
		}
	}
	return nil
}

func overlapping(ctx context.Context, s *stage, ids []int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	claimed := make(chan []int64)
	var settler sync.WaitGroup
	settler.Go(func() {
		for batch := range claimed {
			if err := s.update(ctx, plainSettle, batch); err != nil {
				cancel(err)
			}
		}
	})
	for batch := range slices.Chunk(ids, batchSize) {
		if err := s.update(ctx, plainClaim, batch); err != nil {
			cancel(err)
			break
		}
		claimed <- batch
	}
	close(claimed)
	settler.Wait()
	return context.Cause(ctx)
}

func (s *stage) update(ctx context.Context, statement string, ids []int64) error {
	tag, err := s.pool.Exec(ctx, statement, ids)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if tag.RowsAffected() != int64(len(ids)) {
		return fmt.Errorf("update: %d rows of %d were changed", tag.RowsAffected(), len(ids))
	}
	return nil
}
