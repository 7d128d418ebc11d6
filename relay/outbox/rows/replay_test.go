package rows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// A replay repairs FAILED rows, once, and leaves every other row alone.
func TestReplay(t *testing.T) {
	for preset, name := range presets {
		t.Run(preset, func(t *testing.T) {
			testReplay(t, open(t, preset, outbox.Table{Schema: "public", Name: name}))
		})
	}
	t.Run("partitioned", func(t *testing.T) {
		m := mapped("0", "1", "2", "3")
		m.PartitionKey = "born"
		testReplay(t, ownTable(t, partitionedTable, m))
	})
}

func testReplay(t *testing.T, d table) {
	store := newStore(t, d.Database)
	ids := d.Insert(t, 5)
	batch := claim(t, store, 4)
	keys := d.keys(t, ids)
	if d.Mapping.Failed == "" {
		_, err := store.Replay(t.Context(), keys, time.Now())
		require.ErrorIs(t, err, rows.ErrNoFailed)
		return
	}
	settlements := []event.Settlement{
		{Action: event.Fail, Reason: "refused"}, {Action: event.Sent}, {Action: event.Retry, Delay: time.Hour}, {Action: event.Leave},
	}
	_, err := store.Settle(t.Context(), batch, settlements)
	require.NoError(t, err)
	others := looks(t, d, ids[1:])
	later := time.Now().Add(time.Hour)

	replayed, err := store.Replay(t.Context(), keys, time.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.Empty(t, replayed, "it failed later than that")
	replayed, err = store.Replay(t.Context(), keys, later)
	require.NoError(t, err)
	require.Equal(t, keys[:1], replayed)
	row := d.Look(t, ids[0])
	require.Equal(t, outboxtest.Ready, row.Status)
	require.Zero(t, row.Attempts)
	if d.Mapping.Generation != "" {
		require.Equal(t, int64(2), row.Generation, "as the relay that failed it must not take it for a row that it has released")
	}
	require.Equal(t, others, looks(t, d, ids[1:]))

	replayed, err = store.Replay(t.Context(), keys, later)
	require.NoError(t, err)
	require.Empty(t, replayed, "it was done")
	settled, err := store.Settle(t.Context(), batch, settlements)
	require.NoError(t, err)
	require.Zero(t, settled.Failed, "who failed it does not own it any more")
	require.Equal(t, row.All, d.Look(t, ids[0]).All)
	// It is not below the watermark of a relay that has seen nothing due for a while.
	again := claim(t, store, 5)
	require.Len(t, again.Events, 2)
	require.Contains(t, []string{again.Events[0].ID, again.Events[1].ID}, ids[0])
	require.Equal(t, 1, d.Look(t, ids[0]).Attempts)
}

// keys are the rows of events.
func (d table) keys(t *testing.T, events []string) []rows.Key {
	t.Helper()
	partition := "''"
	if d.Mapping.PartitionKey != "" {
		partition = quote(d.Mapping.PartitionKey) + "::text"
	}
	var keys []rows.Key
	for _, id := range events {
		var k rows.Key
		row := d.Owner.QueryRow(t.Context(), d.on("SELECT "+quote(d.Mapping.ID)+"::text, "+partition+" FROM %s WHERE "+quote(d.Mapping.EventID)+"::text = $1"), id)
		require.NoError(t, row.Scan(&k.ID, &k.Partition))
		keys = append(keys, k)
	}
	return keys
}

// looks is how events are recorded.
func looks(t *testing.T, d table, ids []string) []string {
	t.Helper()
	var all []string
	for _, id := range ids {
		all = append(all, d.Look(t, id).All)
	}
	return all
}
