package outboxtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
)

// die claims as ask says and lets the leases run out, as if the relay had died.
func die(t *testing.T, table Table, ask event.Ask) event.Batch {
	t.Helper()
	batch, err := table.Store(t).Claim(t.Context(), ask)
	require.NoError(t, err)
	for _, id := range identities(batch) {
		table.Disturb(t, id, LeaseEnded)
	}
	return batch
}

// suspectsAreHalved: rows whose relays have died twice come only to who asks for
// suspects, and ever fewer at a time.
func suspectsAreHalved(t *testing.T, table Table) {
	if !table.Abilities().Attempts {
		return
	}
	ids := table.Insert(t, 8)
	ordinary, suspects := event.Ask{Rows: 8}, event.Ask{Rows: 8, Suspects: true, MaxAttempts: 10}
	require.Empty(t, die(t, table, suspects).Events, "nobody has died yet")
	require.Len(t, die(t, table, ordinary).Events, 8)
	require.Len(t, die(t, table, ordinary).Events, 8, "once may be chance")

	other := table.Insert(t, 1)
	batch := die(t, table, ordinary)
	require.Equal(t, other, identities(batch), "suspects stand in nobody's way")
	require.True(t, batch.SuspectsWait)
	sizes := []int{4, 2, 1}
	for i, size := range sizes {
		batch := die(t, table, suspects)
		require.Len(t, batch.Events, size)
		require.Equal(t, size == 1, batch.Lone)
		require.Equal(t, 3+i, batch.Events[0].Attempts)
		require.Equal(t, size, batch.Reclaimed)
		for _, id := range identities(batch) {
			require.Contains(t, ids, id)
		}
	}
}

// aLoneSuspectIsAbandoned: a row becomes FAILED without being sent only after it
// was alone, and its neighbours do not.
func aLoneSuspectIsAbandoned(t *testing.T, table Table) {
	const budget = 2
	a := table.Abilities()
	if !a.Attempts {
		return
	}
	ids := table.Insert(t, 3)
	ordinary, suspects := event.Ask{Rows: 3}, event.Ask{Rows: 3, Suspects: true, MaxAttempts: budget}
	die(t, table, ordinary)
	die(t, table, ordinary)
	// All have used up their attempts, but none was alone: each gets one more try.
	poison := identities(die(t, table, suspects))
	require.Len(t, poison, 1)

	batch, err := table.Store(t).Claim(t.Context(), suspects)
	require.NoError(t, err)
	if a.Failed && a.Token {
		require.Equal(t, 1, batch.Abandoned)
		row := table.Look(t, poison[0])
		require.Equal(t, Failed, row.Status)
		if a.Reasons {
			require.Contains(t, row.Error, "may have been published")
		}
		require.Len(t, batch.Events, 1)
		require.NotEqual(t, poison, identities(batch))
	}
	for _, id := range ids {
		if id != poison[0] {
			require.NotEqual(t, Failed, table.Look(t, id).Status)
		}
	}
}

// aSuspectKeepsItsAttempts: to have been alone is not enough to be given up.
func aSuspectKeepsItsAttempts(t *testing.T, table Table) {
	const budget = 5
	a := table.Abilities()
	if !a.Attempts {
		return
	}
	ids := table.Insert(t, 1)
	ordinary, suspects := event.Ask{Rows: 1}, event.Ask{Rows: 1, Suspects: true, MaxAttempts: budget}
	die(t, table, ordinary)
	die(t, table, ordinary)
	for attempt := 3; attempt <= budget; attempt++ {
		batch := die(t, table, suspects)
		require.Zero(t, batch.Abandoned)
		require.Equal(t, ids, identities(batch))
		require.Equal(t, attempt, batch.Events[0].Attempts)
		requireGeneration(t, table, int64(attempt), ids...)
	}
	if a.Failed && a.Token {
		require.Equal(t, 1, die(t, table, suspects).Abandoned)
		require.Equal(t, Failed, table.Look(t, ids[0]).Status)
	}
}

// suspectsAreSettled: whoever survives is as any other row.
func suspectsAreSettled(t *testing.T, table Table) {
	ids := table.Insert(t, 1)
	ordinary, suspects := event.Ask{Rows: 1}, event.Ask{Rows: 1, Suspects: true, MaxAttempts: 10}
	die(t, table, ordinary)
	die(t, table, ordinary)
	store := table.Store(t)
	batch, err := store.Claim(t.Context(), suspects)
	require.NoError(t, err)
	require.Equal(t, ids, identities(batch))
	require.True(t, batch.Lone)
	settled, err := store.Renew(t.Context(), batch)
	require.NoError(t, err)
	require.Equal(t, event.Settled{Renewed: 1}, settled)
	settled, err = store.Settle(t.Context(), batch, []event.Settlement{{Action: event.Sent}})
	require.NoError(t, err)
	require.Equal(t, event.Settled{Sent: 1}, settled)
	require.Equal(t, Sent, table.Look(t, ids[0]).Status)
}

// aWaitingRowIsNoSuspect, however often it was refused: refusals are answers.
func aWaitingRowIsNoSuspect(t *testing.T, table Table) {
	ids := table.Insert(t, 1)
	for range 4 {
		store := table.Store(t)
		batch := claim(t, store, 1)
		require.Equal(t, ids, identities(batch))
		_, err := store.Settle(t.Context(), batch, []event.Settlement{{Action: event.Retry, Delay: -time.Hour}})
		require.NoError(t, err)
	}
	require.False(t, claim(t, table.Store(t), 1).SuspectsWait)
}

// suspectsAreInTheBacklog: what waits for a lane of its own is counted and aged.
func suspectsAreInTheBacklog(t *testing.T, table Table) {
	table.Insert(t, 2)
	die(t, table, event.Ask{Rows: 2})
	die(t, table, event.Ask{Rows: 2})
	backlog, err := table.Store(t).Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, backlog.Eligible)
	require.Equal(t, 2, backlog.ExpiredLeases)
	require.Zero(t, backlog.InFlight)
	require.Positive(t, backlog.OldestEligible)
	require.Equal(t, table.Abilities().Age, backlog.OldestUnsent > 0)
}
