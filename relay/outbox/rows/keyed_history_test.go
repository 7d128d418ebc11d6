package rows_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// mutants of the ordered claim, each without one of its parts. Every one must be
// caught by the history below: it shows that the part is needed and that the
// history can fail.
var mutants = map[string]func(claim, lock string) (string, string){
	"without the closure": func(claim, lock string) (string, string) {
		return strings.Replace(claim, `OPERATOR(pg_catalog.<=) t.upto`, `OPERATOR(pg_catalog.=) t.upto`, 1), lock
	},
	"without the lock": func(claim, _ string) (string, string) { return claim, "SELECT 1" },
	"without blocked": func(claim, lock string) (string, string) {
		return strings.Replace(claim, "WHERE b.key IS NOT NULL", "WHERE false", 1), lock
	},
}

// Four relays with writers that are serialised per key, due times that do not
// rise, refusals, releases in either order, deaths and pauses beyond the lease:
// no event is first sent before an earlier unresolved one of its key.
func TestAHistoryOfOrderedClaims(t *testing.T) {
	for kind, open := range openings {
		t.Run(kind, func(t *testing.T) { require.Empty(t, orderedHistory(t, open, 8*time.Second, nil)) })
	}
}

func TestMutantsOfTheOrderedClaimBreakTheOrder(t *testing.T) {
	for kind, open := range openings {
		for name, mutate := range mutants {
			t.Run(name+" "+kind, func(t *testing.T) {
				require.NotEmpty(t, orderedHistory(t, open, 30*time.Second, mutate))
			})
		}
	}
}

// history is a log of first appearances beside the order of commits.
type history struct {
	mu sync.Mutex
	// committed are the events of each key in the order of their commits.
	committed map[string][]string
	// appeared are those that were sent at least once.
	appeared map[string]map[string]bool
	wrong    []string
	// ended are the tokens of claims whose relays died, or paused past their leases.
	ended []uuid.UUID
}

func (h *history) commit(key, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.committed[key] = append(h.committed[key], id)
}

// send notes that events appear, one after the other.
func (h *history) send(events []event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		key := string(e.Key)
		if h.appeared[key] == nil {
			h.appeared[key] = map[string]bool{}
		}
		for _, earlier := range h.committed[key] {
			if earlier == e.ID {
				break
			}
			if !h.appeared[key][earlier] {
				h.wrong = append(h.wrong, fmt.Sprintf("%s of %s before %s", e.ID, key, earlier))
				break
			}
		}
		h.appeared[key][e.ID] = true
	}
}

func (h *history) violations() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wrong
}

// orderedHistory runs for a while, or until something is wrong.
func orderedHistory(
	t *testing.T, open func(*testing.T, rows.Order) orderedTable, span time.Duration, mutate func(claim, lock string) (string, string),
) []string {
	t.Helper()
	d := open(t, rows.Order{ByKey: true})
	h := &history{committed: map[string][]string{}, appeared: map[string]map[string]bool{}}
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var working sync.WaitGroup
	for range 4 {
		store := d.store(t)
		if mutate != nil {
			store.Mutate(mutate)
		}
		working.Go(func() { h.relay(ctx, t, store, cancel) })
	}
	for w := range 4 {
		conn := d.Connect(t, database.Owner)
		working.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				// A writer has keys of its own, so that its commits are their order; one key is hot.
				key := fmt.Sprintf("key %d.%d", w, rand.IntN(4)*rand.IntN(2))
				var id string
				err := conn.QueryRow(context.WithoutCancel(ctx), `INSERT INTO outbox (event_id, key, next_attempt_at)
					VALUES (gen_random_uuid(), $1, clock_timestamp() - random() * interval '2 s') RETURNING event_id::text`, key).Scan(&id)
				if err != nil {
					t.Error(err)
					return
				}
				h.commit(key, id)
				time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
			}
		})
	}
	pauses := d.Connect(t, database.Owner)
	working.Go(func() { h.endLeases(ctx, t, pauses) })
	working.Wait()
	return h.violations()
}

// endLeases lets the claims of the dead and of the paused run out.
func (h *history) endLeases(ctx context.Context, t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for ; ctx.Err() == nil; time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) {
		h.mu.Lock()
		ended := h.ended
		h.ended = nil
		h.mu.Unlock()
		_, err := conn.Exec(context.WithoutCancel(ctx), `UPDATE outbox SET lease_until = clock_timestamp()
			WHERE status = 'INPROGRESS' AND claim_token = ANY ($1)`, ended)
		if err != nil {
			t.Error(err)
			return
		}
	}
}

func (h *history) end(token [16]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = append(h.ended, token)
}

// relay claims, sends and settles until ctx ends or an order is broken. Of each
// key it sends a prefix: behind an event that is refused the rest is given back.
func (h *history) relay(ctx context.Context, t *testing.T, store *rows.Store, broken func()) {
	t.Helper()
	whole := context.WithoutCancel(ctx) // What was begun is ended.
	for n := 0; ctx.Err() == nil; n++ {
		b, err := store.Claim(whole, event.Ask{Rows: 20, Suspects: n%5 == 4, MaxAttempts: 1000})
		if err != nil {
			t.Error(err)
			return
		}
		if rand.IntN(40) == 0 {
			h.end(b.Token) // It dies before it sends: what outlives its lease sends nothing.
			continue
		}
		time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond) // The way to the broker.
		settlements, back := make([]event.Settlement, len(b.Events)), []int{}
		refused := map[string]bool{}
		var sent []event.Event
		for i, e := range b.Events {
			switch key := string(e.Key); {
			case refused[key]:
				back = append(back, i)
			case rand.IntN(40) == 0:
				refused[key] = true
				settlements[i] = event.Settlement{Action: event.Retry, Delay: time.Duration(rand.IntN(50)) * time.Millisecond}
			default:
				sent = append(sent, e)
				settlements[i] = event.Settlement{Action: event.Sent}
			}
		}
		h.send(sent)
		if len(h.violations()) > 0 {
			broken()
			return
		}
		switch rand.IntN(40) {
		case 0: // It dies before it settles.
			h.end(b.Token)
			continue
		case 1: // It pauses beyond its lease, and settles then.
			h.end(b.Token)
			time.Sleep(30 * time.Millisecond)
		}
		record := []func() error{
			func() error { _, err := store.Settle(whole, b, settlements); return err },
			func() error { _, err := store.Release(whole, b, back, event.Outage); return err },
		}
		if rand.IntN(2) == 0 {
			record[0], record[1] = record[1], record[0]
		}
		for _, do := range record {
			if err := do(); err != nil {
				t.Error(err)
				return
			}
		}
	}
}
