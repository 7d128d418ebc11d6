package integration

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
	"github.com/relayfleet/relayfleet/relay/report"
	"github.com/relayfleet/relayfleet/relay/settings"
	"github.com/relayfleet/relayfleet/test/load"
)

// keyInversions counts the events that were sent before an earlier one of their
// key, in whichever partitions: relays of one machine have one clock.
const keyInversions = `
SELECT count(*) FROM (
    SELECT r.published_at, max(r.published_at) OVER (PARTITION BY o.key ORDER BY o.id
                                                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM orders AS o JOIN receipts AS r USING (event_id)
) AS sent WHERE before > published_at`

// A topic gets more partitions while two relays publish by key. Both notice, nothing
// is lost, and each key is sent in its order, though its events are now in two
// partitions.
func TestPartitionsThatAreAddedUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.settings.Ordering = settings.Ordering{Mode: settings.OrderKey}
	for _, index := range rows.OrderIndexes(f.tables.Outbox(), outbox.Relayfleet(), rows.Order{ByKey: true, Halt: true}) {
		f.exec(index.Create)
	}
	f.consume()
	stop := f.produceAs(load.Plan{Keys: 100, Writers: 2, RollBack: 0.1}, 200)
	both := []*relay{f.start(), f.start()}
	for _, r := range both {
		r.await("4 partitions", func(c report.Report) bool { return c.Partitions == 4 && c.Rates.Published > 0 })
	}
	const added = "SELECT EXISTS (SELECT 1 FROM receipts WHERE partition >= 4)"
	require.False(t, f.becomesTrue(added, 0))
	require.NoError(t, broker.Admin().AddPartitions(t.Context(), f.name, 8))
	for _, r := range both {
		r.await("8 partitions", func(c report.Report) bool { return c.Partitions == 8 })
	}
	require.True(t, f.becomesTrue(added, soon))
	stop()
	v, err := load.Checker{Tables: f.tables, Faults: &f.faults, Lease: f.lease, Ordered: true}.Await(t.Context(), patience)
	require.NoError(t, err)
	require.NoError(t, v.Err(), "%s", v)
	var inversions int
	require.NoError(t, f.owner.QueryRow(t.Context(), keyInversions).Scan(&inversions))
	require.Zero(t, inversions)
	for _, r := range both {
		require.Contains(t, r.text(), "The topic has another number of partitions")
	}
}
