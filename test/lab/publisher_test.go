package lab

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

// The publisher's life cycle, over every preset: what happens between READY and
// what a consumer makes of it.

// Several pollers work at once: no event has two owners, and none is left over.
func TestConcurrentPollersTakeDisjointRows(t *testing.T) {
	const pollers, events = 4, 60
	for preset := range presets {
		t.Run(preset, func(t *testing.T) {
			b := newBench(t, preset, kindGuarded, 10)
			ids := b.insert(t, events)
			var (
				mu    sync.Mutex
				taken []string
				work  sync.WaitGroup
			)
			for range pollers {
				w := b.worker(t)
				work.Go(func() {
					for {
						id, err := w.claim(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						if id != "" {
							taken = append(taken, id)
						}
						done := len(taken) == events
						mu.Unlock()
						if done {
							return
						}
					}
				})
			}
			work.Wait()
			require.ElementsMatch(t, ids, taken)
		})
	}
}

// A refused event waits for as long as was recorded: an ordinary poll does not
// get it, however often it asks, and when it is due it comes as the same event.
func TestADelayedRetryIsNotTakenEarly(t *testing.T) {
	for preset := range presets {
		t.Run(preset, func(t *testing.T) {
			b := newBench(t, preset, kindGuarded, 11)
			id, owner := b.owned(t)
			accepted, err := owner.retry(t.Context())
			require.NoError(t, err)
			require.True(t, accepted)
			require.Equal(t, "READY", b.look(t, id).status)
			for range 3 {
				got, err := b.worker(t).claim(t.Context())
				require.NoError(t, err)
				require.Empty(t, got)
			}
			b.exec(t, fmt.Sprintf("UPDATE %%s SET %s = clock_timestamp()", q(b.Mapping.NextAttemptAt)))
			got, err := b.worker(t).claim(t.Context())
			require.NoError(t, err)
			require.Equal(t, id, got)
		})
	}
}

// A permanent failure ends FAILED, where it is seen, and is never claimed again.
func TestAPermanentFailureIsVisible(t *testing.T) {
	for preset := range presets {
		t.Run(preset, func(t *testing.T) {
			b := newBench(t, preset, kindGuarded, 12)
			if b.Mapping.Failed == "" {
				require.Equal(t, "Lab", preset, "the only table that has no such state")
				return
			}
			id, owner := b.owned(t)
			w, ok := owner.(*guarded)
			require.True(t, ok)
			settled, err := w.store.Settle(t.Context(), w.batch, []event.Settlement{{Action: event.Fail, Reason: "larger than the topic allows"}})
			require.NoError(t, err)
			require.Equal(t, event.Settled{Failed: 1}, settled)
			require.Equal(t, "FAILED", b.look(t, id).status)
			require.Contains(t, b.look(t, id).all, "larger than the topic allows")
			backlog, err := w.store.Backlog(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, backlog.Failed)
			got, err := b.worker(t).claim(t.Context())
			require.NoError(t, err)
			require.Empty(t, got)
		})
	}
}

// An owner pauses beyond its lease, another one reclaims and records, and the
// first comes back: it can neither finish nor undo what is not its own any more.
func TestAPausedOwnerCannotFinishTheNewAttempt(t *testing.T) {
	for preset := range presets {
		t.Run(preset, func(t *testing.T) {
			b := newBench(t, preset, kindGuarded, 13)
			id, paused := b.owned(t)
			b.expire(t, id)
			next := b.worker(t)
			got, err := next.claim(t.Context())
			require.NoError(t, err)
			require.Equal(t, id, got)
			require.Empty(t, b.refused(t, id, paused.sent), "while the new attempt is alive")
			require.Empty(t, b.refused(t, id, paused.retry))
			accepted, err := next.sent(t.Context())
			require.NoError(t, err)
			require.True(t, accepted)
			require.Empty(t, b.refused(t, id, paused.sent), "after it has ended")
			require.Empty(t, b.refused(t, id, paused.retry))
		})
	}
}

// The broker may deliver before the publisher records SENT. A consumer whose
// compare-and-set asks for SENT finds nothing yet; one that takes the event from
// INPROGRESS is never overwritten by the late SENT, which is counted as overtaken.
func TestAConsumersStatesAreNeverTouched(t *testing.T) {
	const consuming, consumed = "5", "4"
	b := newBench(t, "StatusCodes", kindGuarded, 14)
	move := func(id, from, to string) int64 {
		tag, err := b.Owner.Exec(t.Context(), fmt.Sprintf("UPDATE %s SET send_status = $3 WHERE event_id = $1 AND send_status = $2", b.Table.SQL()), id, from, to)
		require.NoError(t, err)
		return tag.RowsAffected()
	}
	early, owner := b.owned(t)
	require.Zero(t, move(early, b.Mapping.Sent, consuming), "not SENT yet: not yet eligible, and no duplicate either")
	require.Equal(t, int64(1), move(early, b.Mapping.InProgress, consuming))
	w, ok := owner.(*guarded)
	require.True(t, ok)
	for range 2 {
		settled, err := w.store.Settle(t.Context(), w.batch, []event.Settlement{{Action: event.Sent}})
		require.NoError(t, err)
		require.Equal(t, event.Settled{Overtaken: 1}, settled)
	}
	require.Equal(t, consuming, b.look(t, early).status)
	require.Equal(t, int64(1), move(early, consuming, consumed))
	require.Equal(t, consumed, b.look(t, early).status)

	usual, owner := b.owned(t)
	accepted, err := owner.sent(t.Context())
	require.NoError(t, err)
	require.True(t, accepted)
	require.Equal(t, int64(1), move(usual, b.Mapping.Sent, consuming))
	require.Empty(t, b.refused(t, usual, owner.sent), "a SENT that is repeated while the consumer works")
	got, err := b.worker(t).claim(t.Context())
	require.NoError(t, err)
	require.Empty(t, got, "nobody claims what a consumer has")
	b.exec(t, "UPDATE %s SET lease_until = now() - interval '1 day', next_attempt_at = now() - interval '1 day'")
	got, err = b.worker(t).claim(t.Context())
	require.NoError(t, err)
	require.Empty(t, got, "whatever its other columns say")
}

// The token protocol: A claims at 100 until 120. At 120 its acknowledgment fails
// although nobody has reclaimed; B reclaims; A fails again, because the token is
// another; B acknowledges before its own lease ends.
func TestTheTokenProtocol(t *testing.T) {
	b := newBench(t, "Token", kindGuarded, 15)
	id, a := b.owned(t)
	token := func() string {
		return database.Query[string](t, b.Owner, "SELECT coalesce(claim_token, '') FROM "+b.Table.SQL())
	}
	first := token()
	require.NotEmpty(t, first)
	require.Equal(t, "INPROGRESS", b.look(t, id).status)
	b.expire(t, id)
	require.Empty(t, b.refused(t, id, a.sent), "its lease has ended")
	other := b.worker(t)
	got, err := other.claim(t.Context())
	require.NoError(t, err)
	require.Equal(t, id, got)
	require.NotEqual(t, first, token())
	require.Empty(t, b.refused(t, id, a.sent), "the token is another")
	accepted, err := other.sent(t.Context())
	require.NoError(t, err)
	require.True(t, accepted)
	require.Equal(t, "SENT", b.look(t, id).status)

	// A row is taken only when it is due, whatever its lease says.
	b.exec(t, "INSERT INTO %s (event_id, payload, next_attempt_at, claim_token, lease_until) "+
		"VALUES ('later', '', clock_timestamp() + interval '1 hour', 'somebody', clock_timestamp() - interval '1 hour')")
	got, err = b.worker(t).claim(t.Context())
	require.NoError(t, err)
	require.Empty(t, got)
}

// The Lab table has no token: after a lost commit the generation is given out
// again, and what tells the old claim from the new one is which server made it.
func TestALostCommitIsFencedByTheServersStart(t *testing.T) {
	b := newBench(t, "Lab", kindGuarded, 16)
	id, a := b.owned(t)
	// What an asynchronous fail-over or a crash without durable commits leaves behind.
	b.exec(t, "UPDATE %s SET status = 'READY', generation = 0, lease_until = NULL")
	require.NoError(t, database.Server.Restart(t.Context()))
	restarted := bench{Database: b.Database, preset: b.preset, kind: b.kind}
	restarted.Owner = b.Connect(t, database.Owner)
	other := restarted.worker(t)
	var got string
	require.Eventually(t, func() bool {
		var err error
		got, err = other.claim(t.Context())
		return err == nil && got != ""
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, id, got)
	require.Equal(t, int64(1), restarted.look(t, id).claims, "the same generation as the lost claim's")
	before := restarted.look(t, id)
	accepted, err := a.sent(t.Context())
	for range 10 { // The first tries may meet connections that the restart has ended.
		if err == nil {
			break
		}
		accepted, err = a.sent(t.Context())
	}
	require.NoError(t, err)
	require.False(t, accepted)
	require.Equal(t, before, restarted.look(t, id))
	require.Equal(t, "INPROGRESS", before.status)
}
