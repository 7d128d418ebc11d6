package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// claimed is how long claims took under some circumstance.
type claimed struct {
	Circumstance string       `json:"circumstance"`
	Claims       int          `json:"claims"`
	Claim        *percentiles `json:"claimMilliseconds"`
	Settle       *percentiles `json:"settleMilliseconds"`
	// Age is how old the oldest event of a claim was.
	Age *percentiles `json:"ageMilliseconds,omitempty"`
}

func newClaimed(circumstance string, t *timings) claimed {
	claims, settles, ages := t.take()
	return claimed{
		Circumstance: circumstance, Claims: len(claims),
		Claim: percentilesOf(claims), Settle: percentilesOf(settles), Age: percentilesOf(ages),
	}
}

// histories are the numbers of SENT rows that claims are measured over.
var histories = []int{10_000, 1_000_000, 5_000_000}

// sentEvents puts published events in. Their payloads are small, for room: a
// claim does not look at them.
const sentEvents = `INSERT INTO outbox (event_id, key, payload, status, generation, attempts, sent_at)
	SELECT gen_random_uuid(), 'key-' || n % 10000, '{}', 'SENT', 1, 1, statement_timestamp()
	FROM generate_series(1, $1::int) AS n`

// history measures claims of full batches beside ever more published rows.
func (b *bench) history(ctx context.Context) (err error) {
	s, err := b.stage(ctx, nil, nil)
	if err != nil {
		return err
	}
	defer b.clear(ctx, s, &err)
	if err := s.createOutbox(ctx); err != nil {
		return err
	}
	there := 0
	for _, sent := range histories {
		title := fmt.Sprintf("%d SENT rows", sent)
		err := b.steps.Do("measure claims beside "+title, 0, func() error {
			if _, err := s.pool.Exec(ctx, sentEvents, sent-there); err != nil {
				return fmt.Errorf("put history in: %w", err)
			}
			c, err := b.claimsBeside(ctx, s, title)
			b.table.Claims = append(b.table.Claims, c)
			return err
		})
		if err != nil {
			return err
		}
		there = sent + b.events
	}
	return b.report()
}

func (b *bench) claimsBeside(ctx context.Context, s *stage, title string) (c claimed, err error) {
	if err := s.fill(ctx, insertEvents, b.events); err != nil {
		return c, err
	}
	var t timings
	stop, err := s.startNull(ctx, t.events(batchSize), rows.Config{})
	if err != nil {
		return c, err
	}
	defer stop()
	if err := t.awaitSent(ctx, b.events); err != nil {
		return c, err
	}
	c = newClaimed(title, &t)
	c.Age = nil // It only says how long the drain has taken.
	return c, nil
}

// printClaims writes what claims took.
func (t table) printClaims(w *tabwriter.Writer) {
	fmt.Fprintln(w, "\tclaims\tclaim ms p50\tp99\tmax\tsettle ms p50\tp99\toldest event ms p50\tp99\t")
	for _, c := range t.Claims {
		claim, settle, age := orNone(c.Claim), orNone(c.Settle), orNone(c.Age)
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Circumstance, c.Claims, tenths(claim.P50), tenths(claim.P99),
			tenths(claim.Max), tenths(settle.P50), tenths(settle.P99), tenths(age.P50), tenths(age.P99))
	}
}

func orNone(p *percentiles) percentiles {
	if p == nil {
		return percentiles{}
	}
	return *p
}

// window is how long the claims are looked at together while xmin is held.
const window = 30 * time.Second
