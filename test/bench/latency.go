package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/hack/service"
)

const (
	// writers commit while latency is measured, each perTransaction events at once.
	writers        = 2
	perTransaction = 5
	// settleDown is how long a contender may rest between the drain and this.
	settleDown = 2 * time.Second
)

// commits remembers when an event's COMMIT was sent.
type commits struct {
	mu sync.Mutex
	at map[uuid.UUID]time.Time
}

func (c *commits) note(ids [][16]byte, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.at[id] = at
	}
}

func (c *commits) of(id uuid.UUID) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, found := c.at[id]
	return at, found
}

// latency commits events at the chosen rate and returns how long each took from
// just before its COMMIT to a consumer in this program, and how many there were.
func (b *bench) latency(ctx context.Context, s *stage, insert string, reader *topic) (late []time.Duration, sent int, err error) {
	if err := service.Sleep(ctx, settleDown); err != nil {
		return nil, 0, err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	arrivals, err := reader.follow(following, sarama.OffsetNewest)
	if err != nil {
		return nil, 0, err
	}
	committed := &commits{at: make(map[uuid.UUID]time.Time, b.rate*b.seconds)}
	written := make(chan error, 1)
	go func() { written <- s.write(ctx, insert, b.rate, b.latencyFor(), committed) }()

	expected, timeout := b.rate*b.seconds, time.After(b.latencyFor()+patience)
	for writing := true; writing || len(late) < expected; {
		select {
		case a := <-arrivals:
			if at, found := committed.of(a.event); found {
				late = append(late, a.at.Sub(at))
			}
		case err := <-written:
			if err != nil {
				return nil, 0, err
			}
			writing, expected = false, len(committed.at)
		case <-timeout:
			return nil, 0, fmt.Errorf("latency: %d events of %d came", len(late), expected)
		}
	}
	return late, expected, nil
}

// write commits events at a rate. A writer that falls behind catches up.
func (s *stage) write(ctx context.Context, insert string, rate int, d time.Duration, committed *commits) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	every := time.Second * writers * perTransaction / time.Duration(rate)
	begin := time.Now()
	for w := range writers {
		group.Go(func() {
			next := begin.Add(every * time.Duration(w) / writers)
			for n := w; next.Sub(begin) < d; n, next = n+writers, next.Add(every) {
				if err := service.Sleep(ctx, time.Until(next)); err != nil {
					return
				}
				if err := s.commit(ctx, insert, n*perTransaction, committed); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

func (s *stage) commit(ctx context.Context, insert string, first int, committed *commits) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		ids, names, payloads := newEvents(first, perTransaction)
		_, err := tx.Exec(ctx, insert, ids, names, payloads)
		committed.note(ids, time.Now())
		return err
	})
}
