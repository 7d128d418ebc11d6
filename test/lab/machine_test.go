package lab

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// A random history of three workers on one table, beside a model in memory. The
// workers claim, send, settle, renew, retry, release, pause, crash and have wrong
// clocks; leases end and waits pass when the history says so. After each step the
// table must be as the model says (I2, I3), and in the end every event must have
// been sent (I1) under its own identity (I5), or be FAILED for a reason that the
// history has. What is claimed is committed before it is used (I4) because the
// model is compared after every step, by another connection.
//
// A failure prints a short history and how to run it again; it then becomes a
// named test of its own.

// checks is how many histories each preset gets; -rapid.checks overrides it.
const checks = "25"

func TestRandomHistories(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		require.NoError(t, flag.Set("rapid.checks", checks))
	}
	for preset := range presets {
		t.Run(preset, func(t *testing.T) {
			b := newBench(t, preset, kindGuarded, 20)
			db := b.Open(t)
			rapid.Check(t, func(r *rapid.T) { newMachine(t, r, b, db).run(r) })
		})
	}
}

// row is what the model knows of an event.
type row struct {
	id, status string
	// counter is the attempts, or the generation where there are none.
	counter    int
	generation int
	// owner is the claim that holds it, or held it last; nil: none.
	owner *held
	// living: the lease of owner has not ended. delayed: a retry waits.
	living, delayed bool
	// hidden: it was released with an old due time, which others' watermarks may
	// pass over for a while.
	hidden bool
	lone   bool
	sent   int
}

// held is a claim in the hands of a worker.
type held struct {
	batch     event.Batch
	rows      []*row
	uncharged map[*row]bool
}

// hand is a worker with the claims that it believes to hold.
type hand struct {
	store *rows.Store
	held  []*held
}

const (
	workers = 3
	budget  = 3
)

type machine struct {
	t     *testing.T
	b     bench
	db    *outbox.DB
	rows  []*row
	hands []*hand
}

func newMachine(t *testing.T, r *rapid.T, b bench, db *outbox.DB) *machine {
	t.Helper()
	database.Exec(t, b.Owner, "TRUNCATE "+b.Table.SQL())
	m := &machine{t: t, b: b, db: db}
	for range workers {
		m.hands = append(m.hands, m.newHand())
	}
	r.Logf("preset %s", b.preset)
	return m
}

func (m *machine) newHand() *hand {
	w, err := newGuarded(m.db, m.b.Table, m.b.Mapping)
	require.NoError(m.t, err)
	return &hand{store: w.store}
}

func (m *machine) run(r *rapid.T) {
	m.insert(r)
	r.Repeat(map[string]func(*rapid.T){
		"insert":         m.insert,
		"claim":          m.claim,
		"claim suspects": m.claimSuspects,
		"send":           m.send,
		"settle":         m.settle,
		"release":        m.release,
		"renew":          m.renew,
		"leases end":     m.expire,
		"waits pass":     m.due,
		"crash":          m.crash,
		"wrong clock":    m.wrongClock,
		"":               m.compare,
	})
	m.drain(r)
}

func (m *machine) insert(r *rapid.T) {
	for range rapid.IntRange(1, 3).Draw(r, "events") {
		id := m.b.insertDue(m.t, fmt.Sprintf("key %d", len(m.rows)%4), "clock_timestamp()")
		m.rows = append(m.rows, &row{id: id, status: "READY"})
	}
}

// isSuspect: only a claim for suspects takes it.
func (w *row) isSuspect() bool { return w.status == "INPROGRESS" && !w.living && w.counter >= 2 }

func (w *row) isDue() bool {
	return w.status == "READY" && !w.delayed || w.status == "INPROGRESS" && !w.living && w.counter < 2
}

func (m *machine) those(is func(*row) bool) []*row {
	var found []*row
	for _, w := range m.rows {
		if is(w) {
			found = append(found, w)
		}
	}
	return found
}

func (m *machine) hand(r *rapid.T) *hand {
	return m.hands[rapid.IntRange(0, workers-1).Draw(r, "worker")]
}

func (m *machine) claim(r *rapid.T) {
	h, limit := m.hand(r), rapid.IntRange(1, 4).Draw(r, "limit")
	batch, err := h.store.Claim(m.t.Context(), event.Ask{Rows: limit})
	require.NoError(r, err)
	due := m.those((*row).isDue)
	sure := m.those(func(w *row) bool { return w.isDue() && !w.hidden })
	require.LessOrEqual(r, len(batch.Events), min(limit, len(due)))
	require.GreaterOrEqual(r, len(batch.Events), min(limit, len(sure)), "due events were passed over")
	require.Equal(r, len(m.those((*row).isSuspect)) > 0, batch.SuspectsWait)
	m.take(r, h, batch, due)
}

func (m *machine) claimSuspects(r *rapid.T) {
	h, limit := m.hand(r), rapid.IntRange(1, 4).Draw(r, "limit")
	abandoned := m.abandon()
	suspects := m.those((*row).isSuspect)
	batch, err := h.store.Claim(m.t.Context(), event.Ask{Rows: limit, Suspects: true, MaxAttempts: budget})
	require.NoError(r, err)
	require.Equal(r, abandoned, batch.Abandoned)
	if len(suspects) == 0 {
		require.Empty(r, batch.Events)
		return
	}
	most := slices.MaxFunc(suspects, func(a, b *row) int { return cmp.Compare(a.counter, b.counter) }).counter
	alike := m.those(func(w *row) bool { return w.isSuspect() && w.counter == most })
	size := max(1, limit>>(most-1))
	if most >= budget || !m.b.Mapping.Abilities().Attempts {
		size = 1
	}
	require.Len(r, batch.Events, min(size, len(alike)))
	require.Equal(r, len(batch.Events) == 1, batch.Lone)
	m.take(r, h, batch, alike)
}

// abandon ends in the model what a claim for suspects ends in the table.
func (m *machine) abandon() int {
	a := m.b.Mapping.Abilities()
	if !a.Attempts || !a.Failed || !a.Token {
		return 0
	}
	given := m.those(func(w *row) bool { return w.isSuspect() && w.lone && w.counter >= budget })
	for _, w := range given {
		w.status = "FAILED"
	}
	return len(given)
}

// take notes a claim; candidates are the rows that it may hold.
func (m *machine) take(r *rapid.T, h *hand, batch event.Batch, candidates []*row) {
	if len(batch.Events) == 0 {
		return
	}
	claim := &held{batch: batch, uncharged: map[*row]bool{}}
	for _, e := range batch.Events {
		at := slices.IndexFunc(candidates, func(w *row) bool { return w.id == e.ID })
		require.GreaterOrEqual(r, at, 0, "an event was claimed that was not to be had")
		w := candidates[at]
		w.status, w.owner, w.living, w.hidden, w.delayed, w.lone = "INPROGRESS", claim, true, false, false, batch.Lone
		w.counter, w.generation = w.counter+1, w.generation+1
		require.Equal(r, w.counter, e.Attempts)
		claim.rows = append(claim.rows, w)
	}
	h.held = append(h.held, claim)
}

// pick is one of the claims that anybody believes to hold.
func (m *machine) pick(r *rapid.T) (*hand, *held) {
	var hands []*hand
	var all []*held
	for _, h := range m.hands {
		for _, c := range h.held {
			hands, all = append(hands, h), append(all, c)
		}
	}
	if len(all) == 0 {
		r.Skip("nobody holds anything")
	}
	i := rapid.IntRange(0, len(all)-1).Draw(r, "claim")
	return hands[i], all[i]
}

func (c *held) owns(w *row) bool { return w.status == "INPROGRESS" && w.owner == c && w.living }

// send hands a claim to the broker; one that comes late does so all the same.
func (m *machine) send(r *rapid.T) {
	_, c := m.pick(r)
	for _, w := range c.rows {
		w.sent++
	}
}

func (m *machine) settle(r *rapid.T) {
	h, c := m.pick(r)
	actions := []event.Action{event.Leave, event.Sent, event.Retry}
	if m.b.Mapping.Failed != "" {
		actions = append(actions, event.Fail)
	}
	settlements := make([]event.Settlement, len(c.rows))
	var want event.Settled
	refused := 0
	for i, w := range c.rows {
		action := rapid.SampledFrom(actions).Draw(r, "outcome")
		if action == event.Sent && w.sent == 0 {
			action = event.Leave // Only what was sent is ever recorded as sent.
		}
		settlements[i] = event.Settlement{Action: action, Delay: time.Hour, Reason: "said so"}
		switch {
		case action == event.Leave:
		case !c.owns(w):
			refused++
		case action == event.Sent:
			w.status, want.Sent = "SENT", want.Sent+1
		case action == event.Retry:
			w.status, w.owner, w.delayed, w.lone = "READY", nil, true, false
			want.Retried++
		case action == event.Fail:
			w.status, want.Failed = "FAILED", want.Failed+1
		}
	}
	settled, err := h.store.Settle(m.t.Context(), c.batch, settlements)
	require.NoError(r, err)
	m.requireSettled(r, want, refused, settled)
}

func (m *machine) requireSettled(r *rapid.T, want event.Settled, refused int, got event.Settled) {
	require.Equal(r, refused, got.Refused(), "%+v", got)
	got.Stale, got.AlreadyMine, got.Overtaken = 0, 0, 0
	require.Equal(r, want, got)
}

func (m *machine) release(r *rapid.T) {
	h, c := m.pick(r)
	cause := rapid.SampledFrom([]event.ReleaseCause{event.Stopping, event.Outage, event.Unanswered}).Draw(r, "cause")
	attempts := m.b.Mapping.Attempts != ""
	released, refused := 0, 0
	var named []int
	for i, w := range c.rows {
		if !rapid.Bool().Draw(r, "named") {
			continue
		}
		named = append(named, i)
		switch {
		case cause == event.Unanswered && !attempts:
			released++
		case !c.owns(w) || cause == event.Unanswered && c.uncharged[w]:
			refused++
		default:
			released++
			if attempts && w.counter > 0 {
				w.counter--
			}
			if cause == event.Unanswered {
				c.uncharged[w] = true
				break
			}
			w.status, w.owner, w.lone, w.hidden = "READY", nil, false, cause == event.Outage
		}
	}
	settled, err := h.store.Release(m.t.Context(), c.batch, named, cause)
	require.NoError(r, err)
	m.requireSettled(r, event.Settled{Released: released}, refused, settled)
}

func (m *machine) renew(r *rapid.T) {
	h, c := m.pick(r)
	renewed := 0
	for _, w := range c.rows {
		if c.owns(w) {
			renewed++
		}
	}
	settled, err := h.store.Renew(m.t.Context(), c.batch)
	require.NoError(r, err)
	m.requireSettled(r, event.Settled{Renewed: renewed}, len(c.rows)-renewed, settled)
}

// expire lets leases run out, as pauses and deaths do.
func (m *machine) expire(r *rapid.T) {
	for _, w := range m.those(func(w *row) bool { return w.status == "INPROGRESS" && w.living }) {
		if rapid.Bool().Draw(r, "lease") {
			m.b.expire(m.t, w.id)
			w.living = false
		}
	}
}

func (m *machine) due(r *rapid.T) {
	for _, w := range m.those(func(w *row) bool { return w.delayed }) {
		if rapid.Bool().Draw(r, "wait") {
			m.b.exec(m.t, fmt.Sprintf("UPDATE %%s SET %s = clock_timestamp() WHERE %s::text = $1", q(m.b.Mapping.NextAttemptAt), q(m.b.Mapping.EventID)), w.id)
			w.delayed = false
		}
	}
}

// crash takes everything away from a worker but what the table says.
func (m *machine) crash(r *rapid.T) {
	i := rapid.IntRange(0, workers-1).Draw(r, "worker")
	m.hands[i] = m.newHand()
}

// wrongClock sets what a worker believes about its claims' age. Nothing that the
// table decides depends on it.
func (m *machine) wrongClock(r *rapid.T) {
	_, c := m.pick(r)
	c.batch.Started = c.batch.Started.Add(rapid.SampledFrom([]time.Duration{-24 * time.Hour, 24 * time.Hour}).Draw(r, "clock"))
}

// compare looks at the whole table.
func (m *machine) compare(r *rapid.T) {
	mapping := m.b.Mapping
	generation := "0"
	if mapping.Generation != "" {
		generation = q(mapping.Generation)
	}
	found, err := m.b.Owner.Query(m.t.Context(), fmt.Sprintf("SELECT %s::text, %s::text, %s::int, %s::int, %s IS NOT NULL FROM %s",
		q(mapping.EventID), q(mapping.Status), q(mapping.Counter()), generation, q(mapping.LeaseUntil), m.b.Table.SQL()))
	require.NoError(r, err)
	type looked struct {
		ID, Status          string
		Counter, Generation int
		Leased              bool
	}
	list, err := pgx.CollectRows(found, pgx.RowToStructByPos[looked])
	require.NoError(r, err)
	require.Len(r, list, len(m.rows))
	words := map[string]string{"READY": mapping.Ready, "INPROGRESS": mapping.ClaimedStatus(), "SENT": mapping.Sent, "FAILED": mapping.Failed}
	for _, l := range list {
		w := m.rows[slices.IndexFunc(m.rows, func(w *row) bool { return w.id == l.ID })]
		want := looked{ID: w.id, Status: words[w.status], Counter: w.counter, Leased: w.status == "INPROGRESS"}
		if mapping.Generation != "" {
			want.Generation = w.generation
		}
		require.Equal(r, want, l)
	}
}

// drain lets a relay that never fails finish what the history has left.
func (m *machine) drain(r *rapid.T) {
	for _, w := range m.rows {
		if w.status == "INPROGRESS" && w.living {
			m.b.expire(m.t, w.id)
			w.living = false
		}
	}
	m.b.exec(m.t, fmt.Sprintf("UPDATE %%s SET %[1]s = clock_timestamp() WHERE %[2]s = '%[3]s' AND %[1]s > clock_timestamp()",
		q(m.b.Mapping.NextAttemptAt), q(m.b.Mapping.Status), m.b.Mapping.Ready))
	last := m.newHand()
	for range 3 * len(m.rows) {
		for _, suspects := range []bool{false, true} {
			m.drainOnce(r, last, event.Ask{Rows: 10, Suspects: suspects, MaxAttempts: budget})
		}
	}
	for _, w := range m.rows {
		require.Contains(r, []string{"SENT", "FAILED"}, w.status, "%s was left behind", w.id)
		require.True(r, w.status == "FAILED" || w.sent > 0, "%s is SENT and was never sent", w.id)
	}
	m.compare(r)
}

func (m *machine) drainOnce(r *rapid.T, last *hand, ask event.Ask) {
	if ask.Suspects {
		m.abandon()
	}
	batch, err := last.store.Claim(m.t.Context(), ask)
	require.NoError(r, err)
	m.take(r, last, batch, m.those(func(w *row) bool { return w.status == "READY" || w.status == "INPROGRESS" }))
	settlements := slices.Repeat([]event.Settlement{{Action: event.Sent}}, len(batch.Events))
	settled, err := last.store.Settle(m.t.Context(), batch, settlements)
	require.NoError(r, err)
	require.Equal(r, len(batch.Events), settled.Sent)
	for _, e := range batch.Events {
		w := m.rows[slices.IndexFunc(m.rows, func(w *row) bool { return w.id == e.ID })]
		w.status, w.sent = "SENT", w.sent+1
	}
}
