package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/report"
)

// The tests of this file stop what all tests share, so they are not parallel.

func TestABrokerThatIsAwayCostsNoAttempt(t *testing.T) {
	f := newFleet(t)
	f.consume()
	r := f.start()
	r.awaitRunning()
	stop := f.produceSteadily(500)
	require.Eventually(t, func() bool { return f.count("status = 'SENT'") > 200 }, soon, often)

	back := f.faults.Begin("broker down", "broker")
	require.NoError(t, broker.KillBroker(t.Context(), 0))
	r.await("the broker's absence", func(c report.Report) bool {
		return c.State == report.Waiting && c.Broker.Code == report.Unreachable && c.Database.Code == report.OK
	})
	f.requireStandstill()
	require.NoError(t, broker.StartBroker(t.Context(), 0))
	r.awaitRunning()
	back()
	stop()
	f.verdict()
	require.Zero(t, f.count("attempts > 1"), "no record was to blame")
}

func TestADatabaseThatCrashesCostsNoAttempt(t *testing.T) {
	f := newFleet(t)
	f.consume()
	r := f.start()
	r.awaitRunning()
	stop := f.produceSteadily(500)
	require.Eventually(t, func() bool { return f.count("status = 'SENT'") > 200 }, soon, often)

	back := f.faults.Begin("database down", "database")
	require.NoError(t, database.StopImmediate(t.Context()))
	r.await("the database's absence", func(c report.Report) bool {
		return c.State == report.Waiting && c.Database.Code == report.Unreachable && c.Broker.Code == report.OK
	})
	require.NoError(t, database.Resume(t.Context()))
	r.awaitRunning()
	back()
	stop()
	f.verdict()
	require.Zero(t, f.count("attempts > 1"), "no record was to blame")
}

// While sends hang, the relay holds claims and no transaction.
func TestNoTransactionIsOpenWhileTheBrokerIsSilent(t *testing.T) {
	f := newFleet(t)
	f.consume()
	r := f.start()
	r.awaitRunning()
	stop := f.produceSteadily(500)
	require.Eventually(t, func() bool { return f.count("status = 'SENT'") > 200 }, soon, often)

	back := f.faults.Begin("broker frozen", "broker")
	require.NoError(t, broker.PauseBroker(0))
	defer broker.ResumeBroker(0) //nolint:errcheck // It is only for a test that has failed.
	require.Eventually(t, func() bool { return f.count("status = 'INPROGRESS'") > 0 }, soon, often)
	for range 20 {
		var open int
		require.NoError(t, f.owner.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE usename = $1
			AND state LIKE 'idle in transaction%' AND clock_timestamp() - state_change > interval '100 ms'`, f.role).Scan(&open))
		require.Zero(t, open)
		time.Sleep(often)
	}
	require.Positive(t, f.count("status = 'INPROGRESS'"), "it held claims all the time")
	require.NoError(t, broker.ResumeBroker(0))
	back()
	stop()
	f.verdict()
}

// requireStandstill waits until nothing is claimed any more: what an outage of
// the broker leaves INPROGRESS is what has no answer, and that stays so.
func (f *fleet) requireStandstill() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), soon)
	defer cancel()
	generations := func() (sum int64) {
		require.NoError(f.t, f.owner.QueryRow(ctx, "SELECT sum(generation)::bigint FROM outbox").Scan(&sum))
		return sum
	}
	require.Eventually(f.t, func() bool {
		before := generations()
		time.Sleep(time.Second)
		return generations() == before
	}, soon, often)
}
