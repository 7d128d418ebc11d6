package outboxtest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Exercise runs the suite; open makes a new, empty table for each test.
func Exercise(t *testing.T, open func(t *testing.T) Table) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, table Table)
	}{
		{"a claim takes the oldest rows and charges an attempt", claimTakesOldest},
		{"an empty claim is an empty batch", claimOfNothing},
		{"concurrent claims are disjoint and complete", claimsAreDisjoint},
		{"a claim passes over a row that an open transaction holds", claimSkipsLocked},
		{"an ended lease is claimed again, as the same event", endedLeaseIsReclaimed},
		{"a living lease is not claimed", livingLeaseIsKept},
		{"a settle records each kind of outcome", settleRecords},
		{"a settle that is repeated changes nothing", settleIsIdempotent},
		{"a retry is not claimed early", retryWaits},
		{"a failed event is seen and not claimed", failedIsVisible},
		{"a release gives the attempt back", releaseGivesBack},
		{"a release at shutdown is due now, in an outage as before", releaseDue},
		{"an unanswered event keeps its claim and gets its attempt back once", unansweredKeepsClaim},
		{"a release gives back only what is named", releaseIsSelective},
		{"a renewal makes the lease begin anew", renewalExtends},
		{"a guard refuses whatever is not its own", guardRefuses},
		{"a guard leaves rows of the same claim alone that are not named", guardNamesRows},
		{"renewals and settles of the same rows do not deadlock", overlapsDoNotDeadlock},
		{"suspects are claimed apart, ever fewer at a time", suspectsAreHalved},
		{"only a suspect that was alone is abandoned", aLoneSuspectIsAbandoned},
		{"a suspect that has attempts left is claimed again", aSuspectKeepsItsAttempts},
		{"a suspect that survives is settled as any other", suspectsAreSettled},
		{"a row that was refused often is no suspect", aWaitingRowIsNoSuspect},
		{"suspects are in the backlog", suspectsAreInTheBacklog},
		{"the backlog counts", backlogCounts},
		{"mistakes of the caller are errors", mistakesAreErrors},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func claimTakesOldest(t *testing.T, table Table) {
	ids := table.Insert(t, 5)
	before := time.Now()
	batch := claim(t, table.Store(t), 3)
	require.Equal(t, ids[:3], identities(batch))
	require.NotZero(t, batch.Token)
	require.Equal(t, Lease, batch.Lease)
	require.WithinRange(t, batch.Started, before, time.Now())
	require.Zero(t, batch.Reclaimed)
	for _, id := range ids[:3] {
		row := table.Look(t, id)
		require.Equal(t, InProgress, row.Status)
		requireGeneration(t, table, 1, id)
		require.Equal(t, 1, row.Attempts)
		require.InDelta(t, Lease.Seconds(), row.DueIn.Seconds(), 60)
	}
	for _, e := range batch.Events {
		require.Equal(t, 1, e.Attempts)
		require.NotEmpty(t, e.Row)
	}
	require.Equal(t, Ready, table.Look(t, ids[3]).Status)
}

func claimOfNothing(t *testing.T, table Table) {
	store := table.Store(t)
	batch := claim(t, store, 10)
	require.Empty(t, batch.Events)
	settled, err := store.Settle(t.Context(), batch, nil)
	require.NoError(t, err)
	require.Zero(t, settled)
	settled, err = store.Release(t.Context(), batch, nil, event.Stopping)
	require.NoError(t, err)
	require.Zero(t, settled)
	settled, err = store.Renew(t.Context(), batch)
	require.NoError(t, err)
	require.Zero(t, settled)
}

func claimsAreDisjoint(t *testing.T, table Table) {
	const relays, events, limit = 4, 400, 7
	ids := table.Insert(t, events)
	var (
		mu    sync.Mutex
		taken []string
		done  sync.WaitGroup
	)
	for range relays {
		store := table.Store(t)
		done.Go(func() {
			for {
				batch, err := store.Claim(t.Context(), event.Ask{Rows: limit})
				if err != nil {
					t.Error(err)
					return
				}
				if len(batch.Events) > limit {
					t.Errorf("%d events for a limit of %d", len(batch.Events), limit)
				}
				mu.Lock()
				taken = append(taken, identities(batch)...)
				complete := len(taken) >= events
				mu.Unlock()
				if complete {
					return
				}
			}
		})
	}
	done.Wait()
	require.ElementsMatch(t, ids, taken)
	requireGeneration(t, table, 1, ids[events/2])
}

func claimSkipsLocked(t *testing.T, table Table) {
	ids := table.Insert(t, 2)
	store := table.Store(t)
	unlock := table.Lock(t, ids[0])
	require.Equal(t, ids[1:], identities(claim(t, store, 2)))
	unlock()
	require.Equal(t, ids[:1], identities(claim(t, store, 2)))
}

func endedLeaseIsReclaimed(t *testing.T, table Table) {
	ids := table.Insert(t, 2)
	first := claim(t, table.Store(t), 1)
	table.Disturb(t, ids[0], LeaseEnded)
	second := claim(t, table.Store(t), 2)
	require.ElementsMatch(t, ids, identities(second))
	require.Equal(t, 1, second.Reclaimed)
	again := second.Events[slices.Index(identities(second), ids[0])]
	require.Equal(t, 2, again.Attempts)
	require.Equal(t, first.Events[0].Row, again.Row)
	require.Equal(t, first.Events[0].Payload, again.Payload)
	require.NotEqual(t, first.Token, second.Token)
	requireGeneration(t, table, 2, ids[0])
	require.Equal(t, 2, table.Look(t, ids[0]).Attempts)
}

func livingLeaseIsKept(t *testing.T, table Table) {
	table.Insert(t, 3)
	require.Len(t, claim(t, table.Store(t), 10).Events, 3)
	require.Empty(t, claim(t, table.Store(t), 10).Events)
}

func settleRecords(t *testing.T, table Table) {
	ids := table.Insert(t, 4)
	store := table.Store(t)
	batch := claim(t, store, 4)
	settled, err := store.Settle(t.Context(), batch, []event.Settlement{
		{Action: event.Sent},
		{Action: event.Retry, Delay: time.Hour, Reason: "refused\x00 for now"},
		{Action: failing(table), Reason: "refused for good"},
		{Action: event.Leave},
	})
	require.NoError(t, err)
	failed := 0
	if table.Abilities().Failed {
		failed = 1
	}
	require.Equal(t, event.Settled{Sent: 1, Retried: 1, Failed: failed}, settled)

	require.Equal(t, Sent, table.Look(t, ids[0]).Status)
	retried := table.Look(t, ids[1])
	require.Equal(t, Ready, retried.Status)
	require.Equal(t, 1, retried.Attempts)
	require.InDelta(t, time.Hour.Seconds(), retried.DueIn.Seconds(), 60)
	if table.Abilities().Reasons {
		require.Equal(t, "refused? for now", retried.Error)
	}
	if table.Abilities().Failed {
		failed := table.Look(t, ids[2])
		require.Equal(t, Failed, failed.Status)
		require.Equal(t, "refused for good", failed.Error)
	}
	require.Equal(t, InProgress, table.Look(t, ids[3]).Status)
	requireGeneration(t, table, 1, ids...)
}

// failing is Fail, or nothing where the table cannot say it.
func failing(table Table) event.Action {
	if table.Abilities().Failed {
		return event.Fail
	}
	return event.Leave
}

func requireGeneration(t *testing.T, table Table, want int64, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if table.Abilities().Generation {
			require.Equal(t, want, table.Look(t, id).Generation)
		}
	}
}

func settleIsIdempotent(t *testing.T, table Table) {
	ids := table.Insert(t, 4)
	store := table.Store(t)
	batch := claim(t, store, 4)
	settlements := []event.Settlement{
		{Action: event.Sent}, {Action: event.Retry, Delay: time.Hour}, {Action: failing(table)}, {Action: event.Leave},
	}
	_, err := store.Settle(t.Context(), batch, settlements)
	require.NoError(t, err)
	before := looks(t, table, ids)
	settled, err := store.Settle(t.Context(), batch, settlements)
	require.NoError(t, err)
	want := event.Settled{AlreadyMine: 2}
	if table.Abilities().Failed {
		want.AlreadyMine++
	}
	if !table.Abilities().Generation { // Of a row that waits nothing tells whose retry it was.
		want.AlreadyMine, want.Stale = want.AlreadyMine-1, 1
	}
	require.Equal(t, want, settled)
	require.Equal(t, before, looks(t, table, ids))
}

func retryWaits(t *testing.T, table Table) {
	ids := table.Insert(t, 2)
	store := table.Store(t)
	batch := claim(t, store, 2)
	_, err := store.Settle(t.Context(), batch, []event.Settlement{
		{Action: event.Retry, Delay: time.Hour}, {Action: event.Retry},
	})
	require.NoError(t, err)
	again := claim(t, store, 2)
	require.Equal(t, ids[1:], identities(again))
	require.Equal(t, 2, again.Events[0].Attempts)
}

func failedIsVisible(t *testing.T, table Table) {
	if !table.Abilities().Failed {
		return
	}
	table.Insert(t, 1)
	store := table.Store(t)
	batch := claim(t, store, 1)
	_, err := store.Settle(t.Context(), batch, []event.Settlement{{Action: event.Fail, Reason: "too large"}})
	require.NoError(t, err)
	require.Empty(t, claim(t, store, 1).Events)
	backlog, err := store.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, backlog.Failed)
	require.Zero(t, backlog.Eligible+backlog.InFlight)
}

func releaseGivesBack(t *testing.T, table Table) {
	ids := table.Insert(t, 2)
	store := table.Store(t)
	for _, cause := range []event.ReleaseCause{event.Stopping, event.Outage} {
		batch := claim(t, store, 2)
		require.Len(t, batch.Events, 2)
		settled, err := store.Release(t.Context(), batch, []int{1, 0, 1}, cause)
		require.NoError(t, err)
		require.Equal(t, event.Settled{Released: 2}, settled)
		for _, id := range ids {
			row := table.Look(t, id)
			require.Equal(t, Ready, row.Status)
			if table.Abilities().Attempts {
				require.Zero(t, row.Attempts)
			}
		}
		settled, err = store.Release(t.Context(), batch, []int{0, 1}, cause)
		require.NoError(t, err)
		require.Equal(t, 2, settled.Refused())
		if table.Abilities().Generation {
			require.Equal(t, 2, settled.AlreadyMine)
		}
	}
	requireGeneration(t, table, 2, ids[0])
}

func releaseDue(t *testing.T, table Table) {
	ids := table.Insert(t, 1)
	store := table.Store(t)
	due := func() time.Duration { return table.Look(t, ids[0]).DueIn }
	inserted := due()
	_, err := store.Release(t.Context(), claim(t, store, 1), []int{0}, event.Outage)
	require.NoError(t, err)
	kept := due()
	require.LessOrEqual(t, kept, inserted, "the age of an event goes on through an outage")
	_, err = store.Release(t.Context(), claim(t, store, 1), []int{0}, event.Stopping)
	require.NoError(t, err)
	require.Greater(t, due(), kept)
	require.Len(t, claim(t, table.Store(t), 1).Events, 1)
}

func unansweredKeepsClaim(t *testing.T, table Table) {
	ids := table.Insert(t, 1)
	store := table.Store(t)
	claim(t, store, 1)
	table.Disturb(t, ids[0], LeaseEnded)
	batch := claim(t, store, 1)
	settled, err := store.Release(t.Context(), batch, []int{0}, event.Unanswered)
	require.NoError(t, err)
	require.Equal(t, event.Settled{Released: 1}, settled)
	row := table.Look(t, ids[0])
	require.Equal(t, InProgress, row.Status)
	settled, err = store.Release(t.Context(), batch, []int{0}, event.Unanswered)
	require.NoError(t, err)
	if table.Abilities().Attempts {
		require.Equal(t, 1, row.Attempts)
		require.Equal(t, event.Settled{AlreadyMine: 1}, settled)
	}
	require.Equal(t, row.All, table.Look(t, ids[0]).All)
	require.Empty(t, claim(t, store, 1).Events)
}

func releaseIsSelective(t *testing.T, table Table) {
	ids := table.Insert(t, 3)
	store := table.Store(t)
	batch := claim(t, store, 3)
	settled, err := store.Release(t.Context(), batch, []int{1}, event.Stopping)
	require.NoError(t, err)
	require.Equal(t, event.Settled{Released: 1}, settled)
	settled, err = store.Settle(t.Context(), batch, all(batch, event.Settlement{Action: event.Sent}))
	require.NoError(t, err)
	require.Equal(t, event.Settled{Sent: 2, Stale: 1}, settled)
	require.Equal(t, Ready, table.Look(t, ids[1]).Status)
}

func renewalExtends(t *testing.T, table Table) {
	ids := table.Insert(t, 2)
	store := table.Store(t)
	batch := claim(t, store, 2)
	before := table.Look(t, ids[0])
	table.Disturb(t, ids[1], LeaseEnded)
	settled, err := store.Renew(t.Context(), batch)
	require.NoError(t, err)
	require.Equal(t, event.Settled{Renewed: 1, Stale: 1}, settled)
	after := table.Look(t, ids[0])
	require.NotEqual(t, before.All, after.All)
	require.InDelta(t, Lease.Seconds(), after.DueIn.Seconds(), 60)
	require.Equal(t, before.Attempts, after.Attempts)
	require.Equal(t, before.Generation, after.Generation)
}

func overlapsDoNotDeadlock(t *testing.T, table Table) {
	const events, rounds = 300, 15
	table.Insert(t, events)
	store, other := table.Store(t), table.Store(t)
	batch := claim(t, store, events)
	var done sync.WaitGroup
	for _, s := range []Store{store, other} {
		done.Go(func() {
			for range rounds {
				if _, err := s.Renew(t.Context(), batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	settled, err := store.Settle(t.Context(), batch, all(batch, event.Settlement{Action: event.Sent}))
	require.NoError(t, err)
	require.Equal(t, event.Settled{Sent: events}, settled)
}

func backlogCounts(t *testing.T, table Table) {
	ids := table.Insert(t, 6)
	store := table.Store(t)
	batch := claim(t, store, 4)
	_, err := store.Settle(t.Context(), batch, []event.Settlement{
		{Action: event.Sent}, {Action: failing(table)}, {Action: event.Leave}, {Action: event.Leave},
	})
	require.NoError(t, err)
	table.Disturb(t, ids[3], LeaseEnded)
	backlog, err := store.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, backlog.Eligible, "two never claimed, one whose lease has ended")
	require.Equal(t, 1, backlog.ExpiredLeases)
	if table.Abilities().Failed {
		require.Equal(t, 1, backlog.InFlight)
		require.Equal(t, 1, backlog.Failed)
	}
	require.Positive(t, backlog.OldestEligible)
	if table.Abilities().Age {
		require.GreaterOrEqual(t, backlog.OldestUnsent, backlog.OldestEligible)
	}
	require.False(t, backlog.SampledAt.IsZero())
	require.Greater(t, backlog.Cap, 6)
}

func mistakesAreErrors(t *testing.T, table Table) {
	table.Insert(t, 2)
	store := table.Store(t)
	_, err := store.Claim(t.Context(), event.Ask{})
	require.Error(t, err)
	batch := claim(t, store, 2)
	_, err = store.Settle(t.Context(), batch, []event.Settlement{{Action: event.Sent}})
	require.Error(t, err, "one settlement for two events")
	_, err = store.Release(t.Context(), batch, []int{2}, event.Stopping)
	require.Error(t, err, "an index beyond the batch")
	foreign := batch
	foreign.Claim = "another store's"
	_, err = store.Settle(t.Context(), foreign, all(batch, event.Settlement{Action: event.Sent}))
	require.Error(t, err)
	_, err = store.Renew(t.Context(), foreign)
	require.Error(t, err)
}

func claim(t *testing.T, store Store, limit int) event.Batch {
	t.Helper()
	batch, err := store.Claim(t.Context(), event.Ask{Rows: limit})
	require.NoError(t, err)
	return batch
}

func identities(b event.Batch) []string {
	ids := make([]string, len(b.Events))
	for i, e := range b.Events {
		ids[i] = e.ID
	}
	return ids
}

func all(b event.Batch, s event.Settlement) []event.Settlement {
	return slices.Repeat([]event.Settlement{s}, len(b.Events))
}

func looks(t *testing.T, table Table, ids []string) []string {
	t.Helper()
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = table.Look(t, id).All
	}
	return list
}
