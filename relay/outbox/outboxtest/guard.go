package outboxtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
)

// outcome is one of the ways to change claimed events.
type outcome struct {
	name string
	// do changes the events with these indexes.
	do func(t *testing.T, store Store, b event.Batch, events []int) event.Settled
}

func outcomes(table Table) []outcome {
	all := []outcome{
		{"sent", settling(event.Settlement{Action: event.Sent})},
		{"retry", settling(event.Settlement{Action: event.Retry, Delay: time.Minute})},
		{"released at shutdown", releasing(event.Stopping)},
		{"released in an outage", releasing(event.Outage)},
	}
	if table.Abilities().Failed {
		all = append(all, outcome{"failed", settling(event.Settlement{Action: event.Fail})})
	}
	if table.Abilities().Attempts {
		all = append(all, outcome{"unanswered", releasing(event.Unanswered)})
	}
	return all
}

func settling(s event.Settlement) func(*testing.T, Store, event.Batch, []int) event.Settled {
	return func(t *testing.T, store Store, b event.Batch, events []int) event.Settled {
		t.Helper()
		settlements := make([]event.Settlement, len(b.Events))
		for _, i := range events {
			settlements[i] = s
		}
		settled, err := store.Settle(t.Context(), b, settlements)
		require.NoError(t, err)
		return settled
	}
}

func releasing(cause event.ReleaseCause) func(*testing.T, Store, event.Batch, []int) event.Settled {
	return func(t *testing.T, store Store, b event.Batch, events []int) event.Settled {
		t.Helper()
		settled, err := store.Release(t.Context(), b, events, cause)
		require.NoError(t, err)
		return settled
	}
}

// renewing always names the whole batch.
func renewing(t *testing.T, store Store, b event.Batch, _ []int) event.Settled {
	t.Helper()
	settled, err := store.Renew(t.Context(), b)
	require.NoError(t, err)
	return settled
}

// guardRefuses goes through everything that may have happened to a row and
// everything that its former owner may still want of it: nothing changes, and
// it is counted.
func guardRefuses(t *testing.T, table Table) {
	for _, disturbance := range table.Disturbances() {
		for _, outcome := range append(outcomes(table), outcome{"renewed", renewing}) {
			t.Run(fmt.Sprintf("%s, then %s", disturbance, outcome.name), func(t *testing.T) {
				id := table.Insert(t, 1)[0]
				store := table.Store(t)
				batch := claim(t, store, 1)
				require.Equal(t, []string{id}, identities(batch))
				table.Disturb(t, id, disturbance)
				before := table.Look(t, id)
				settled := outcome.do(t, store, batch, []int{0})
				require.Equal(t, before, notLater(table.Look(t, id), before))
				require.Equal(t, 1, settled.Refused(), "%+v", settled)
				require.Zero(t, settled.Sent+settled.Retried+settled.Failed+settled.Released+settled.Renewed)
				if disturbance == Consumed {
					require.Equal(t, 1, settled.Overtaken, "%+v", settled)
				}
				retire(t, table, id)
			})
		}
	}
}

// notLater takes the passing of time out of a look.
func notLater(row, before Row) Row {
	row.DueIn = before.DueIn
	return row
}

// retire keeps an event from being claimed by the next case.
func retire(t *testing.T, table Table, id string) {
	t.Helper()
	table.Disturb(t, id, Removed)
}

func guardNamesRows(t *testing.T, table Table) {
	for _, outcome := range outcomes(table) {
		t.Run(outcome.name, func(t *testing.T) {
			ids := table.Insert(t, 3)
			store := table.Store(t)
			batch := claim(t, store, 3)
			before := looks(t, table, ids)
			settled := outcome.do(t, store, batch, []int{1})
			require.Zero(t, settled.Refused())
			after := looks(t, table, ids)
			require.Equal(t, before[0], after[0])
			require.NotEqual(t, before[1], after[1])
			require.Equal(t, before[2], after[2])
			for _, id := range ids {
				retire(t, table, id)
			}
		})
	}
}
