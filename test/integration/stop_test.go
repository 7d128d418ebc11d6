package integration

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/report"
)

func TestASIGTERMInTheMiddleOfABatchLeavesNothingToALease(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.consume()
	r := f.start()
	r.awaitRunning()
	f.produce(20000)
	held := r.freezeHolding(false)
	require.NotEmpty(t, held)
	require.NoError(t, r.Signal(syscall.SIGTERM))
	require.NoError(t, r.Thaw())
	require.Zero(t, r.awaitExit())

	require.Zero(t, f.count("status = 'INPROGRESS'"))
	require.Zero(t, f.count("status = 'FAILED'"))
	require.Zero(t, f.count("status = 'READY' AND (attempts > 0 OR claim_token IS NOT NULL)"))
	require.Zero(t, f.count("status = 'SENT' AND attempts <> 1"))
	require.Positive(t, f.count("status = 'READY'"), "it was stopped in the middle")
	f.start()
	require.Empty(t, f.verdict().Duplicates)
}

func TestAKilledRelaysRowsAreTakenOverWhenTheirLeaseEnds(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.consume()
	first := f.start()
	first.awaitRunning()
	f.produce(20000)
	held := first.freezeHolding(true)
	f.faults.Record("kill", first.Name)
	require.NoError(t, first.Signal(syscall.SIGKILL))
	require.Equal(t, 137, first.awaitExit())

	second := f.start()
	v := f.verdict()
	require.NotEmpty(t, v.Duplicates, "some of them had been delivered before the kill")
	require.LessOrEqual(t, len(v.Duplicates), len(held))
	require.EqualValues(t, len(held), f.count("id = ANY ($1) AND status = 'SENT' AND generation = 2 AND attempts = 2", held),
		"the claim of the dead counts as an attempt")
	require.EqualValues(t, len(held), f.count("generation > 1"))
	require.EqualValues(t, len(held), second.report().Rates.Reclaimed)
}

func TestARelayFrozenBeyondItsLeaseOverwritesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.consume()
	first := f.start()
	first.awaitRunning()
	f.produce(20000)
	held := first.freezeHolding(true)
	thawed := f.faults.Begin("freeze", first.Name)
	second := f.start()
	require.Eventually(t, func() bool { return f.count("status <> 'SENT'") == 0 }, soon, often)
	recorded := f.recorded()

	require.NoError(t, first.Thaw())
	thawed()
	first.await("refused outcomes", func(c report.Report) bool { return c.Rates.Stale > 0 })
	require.LessOrEqual(t, first.report().Rates.Stale, int64(len(held)), "a claim that it had not yet read is not settled")
	require.Equal(t, recorded, f.recorded(), "the table is as the second relay left it")
	require.EqualValues(t, len(held), f.count("id = ANY ($1) AND generation = 2", held))
	require.EqualValues(t, len(held), second.report().Rates.Reclaimed)
	first.awaitRunning()
	require.NotEmpty(t, f.verdict().Duplicates)
}

// recorded is a digest of everything that the table says.
func (f *fleet) recorded() (digest string) {
	f.t.Helper()
	require.NoError(f.t, f.owner.QueryRow(f.t.Context(),
		"SELECT md5(string_agg(o::text, '|' ORDER BY o.id)) FROM outbox AS o").Scan(&digest))
	return digest
}

func TestAReadyRelayStaysReadyAndAliveThroughAnOutage(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	r := f.start()
	r.awaitRunning()
	require.Eventually(t, func() bool { ready, err := r.Ready(t.Context()); return err == nil && ready }, soon, often)
	require.NoError(t, broker.Admin().DeleteTopic(t.Context(), f.name))
	f.produce(100)
	r.await("the missing topic", func(c report.Report) bool { return c.Broker.Code == report.TopicMissing })
	ready, err := r.Ready(t.Context())
	require.NoError(t, err)
	require.True(t, ready, "readiness is latched")
	f.createTopic()
	f.consume()
	f.verdict()
	require.EqualValues(t, 100, f.count("status = 'SENT' AND attempts = 1"), "an outage costs no attempt")
}

func TestARotatedPasswordIsTakenUpWithoutARestart(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.consume()
	r := f.start()
	r.awaitRunning()
	stop := f.produceSteadily(300)
	require.Eventually(t, func() bool { return f.count("status = 'SENT'") > 100 }, soon, often)

	const rotated = "a-new-password"
	f.secrets = append(f.secrets, rotated)
	f.exec("ALTER ROLE " + f.role + " PASSWORD '" + rotated + "'")
	healed := f.faults.Begin("sessions ended", f.role)
	f.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + f.role + "'")
	r.await("the refused password", func(c report.Report) bool { return c.Database.Code == report.AuthenticationFailed })
	f.write("uri", f.rotatedURI(rotated))
	r.awaitRunning()
	healed()
	sent := f.count("status = 'SENT'")
	require.Eventually(t, func() bool { return f.count("status = 'SENT'") > sent+100 }, soon, often)
	stop()
	f.verdict()
	require.True(t, r.Running())
	require.Zero(t, f.count("attempts > 1"))
}

func TestAPasswordRotatedInTimeIsNotNoticed(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.consume()
	r := f.start()
	r.awaitRunning()
	const rotated = "another-new-password"
	f.secrets = append(f.secrets, rotated)
	f.exec("ALTER ROLE " + f.role + " PASSWORD '" + rotated + "'")
	f.write("uri", f.rotatedURI(rotated))
	f.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + f.role + "'")
	f.produce(500)
	require.Empty(t, f.verdict().Duplicates)
	require.NotContains(t, r.text(), "password authentication failed")
}
