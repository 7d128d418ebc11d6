package integration

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay/report"
	"github.com/relayfleet/relayfleet/relay/settings"
	"github.com/relayfleet/relayfleet/test/load"
)

// fewAttempts would be used up soon, if an outage used any.
var fewAttempts = settings.Retry{MaxAttempts: 3, MaxAgeSeconds: new(0), BackoffSeconds: 1, MaxBackoffSeconds: 1}

func TestADatabaseThatIsRestartedTwentyTimesFailsNothing(t *testing.T) {
	const restarts = 20
	f := newFleetOn(t, postgres.StartForTest(t, postgres.Options{NotDurable: true}))
	f.settings.Retry = fewAttempts
	f.consume()
	first, second := f.start(), f.start()
	first.awaitRunning()
	second.awaitRunning()
	stop := f.produceSteadily(300)
	for i := range restarts {
		f.awaitProgress()
		back := f.faults.Begin("database restarted", "database")
		end := f.server.Stop
		if i%2 == 1 {
			end = f.server.StopImmediate
		}
		require.NoError(t, end(t.Context()))
		require.NoError(t, f.server.Resume(t.Context()))
		first.awaitRunning()
		second.awaitRunning()
		back()
	}
	stop()
	f.verdict()
	require.Zero(t, f.count("status = 'FAILED'"))
	require.Zero(t, f.count("attempts > 3"))
	t.Logf("of %d events %d needed a second claim", f.count("true"), f.count("attempts > 1"))
}

// The relays hold claims when the database goes, and it stays away until these
// have ended.
func TestADatabaseThatIsAwayForLongerThanALeaseCostsNoAttempt(t *testing.T) {
	t.Parallel()
	f := newFleetOn(t, postgres.StartForTest(t, postgres.Options{NotDurable: true}))
	f.settings.Retry = fewAttempts
	f.exec(`CREATE TABLE slow ();
		CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
		$$ BEGIN IF EXISTS (SELECT FROM public.slow) THEN PERFORM pg_sleep(60); END IF; RETURN NEW; END $$;
		CREATE TRIGGER slow BEFORE UPDATE ON outbox FOR EACH ROW WHEN (NEW.status = 'SENT') EXECUTE FUNCTION slow()`)
	f.consume()
	first, second := f.start(), f.start()
	first.awaitRunning()
	second.awaitRunning()
	stop := f.produceSteadily(300)
	for range 2 {
		f.awaitProgress()
		f.exec("INSERT INTO slow DEFAULT VALUES")
		require.Eventually(t, func() bool { return f.count("status = 'INPROGRESS'") > 20 }, soon, often)
		f.exec("DELETE FROM slow")
		back := f.faults.Begin("database away", "database")
		require.NoError(t, f.server.StopImmediate(t.Context()))
		time.Sleep(f.lease)
		require.NoError(t, f.server.Resume(t.Context()))
		first.awaitRunning()
		second.awaitRunning()
		back()
	}
	stop()
	f.verdict()
	require.Greater(t, f.count("generation > 1"), int64(20), "leases have ended")
	require.Zero(t, f.count("attempts > 1"), "no record was to blame")
}

// awaitProgress waits until the relays have published since it was called, so
// that the next fault meets them at work.
func (f *fleet) awaitProgress() {
	f.t.Helper()
	sent := func() (n int64) {
		// The connections that a restart has ended are found one by one.
		if f.owner.QueryRow(f.t.Context(), "SELECT count(*) FROM outbox WHERE status = 'SENT'").Scan(&n) != nil {
			return -1
		}
		return n
	}
	before := int64(-1)
	require.Eventually(f.t, func() bool {
		now := sent()
		if before < 0 {
			before = now
		}
		return before >= 0 && now > before
	}, soon, often)
}

// The primary takes no writes any more, its standby is promoted, and then the old
// one dies: the relays find the new one by themselves, while the old one answers. What they held on
// the old server is given up; no event is lost, and none has FAILED.
func TestAFailOverFailsNothing(t *testing.T) {
	primary := postgres.StartForTest(t, postgres.Options{NotDurable: true})
	f := newFleetOn(t, primary)
	standby, err := primary.StartStandby(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Remove(context.Background())) })
	// A fail-over that may lose commits loses events with them; this one may not.
	f.exec("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
	f.exec("SELECT pg_reload_conf()")

	f.write("uri", f.changedURI(func(u *url.URL) { u.Host += "," + standby.Address() }))
	both := strings.Replace(primary.URL(f.name, "postgres"), primary.Address(), primary.Address()+","+standby.Address(), 1)
	pool, err := pgxpool.New(t.Context(), both+"&target_session_attrs=read-write")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	f.owner, f.tables = pool, load.NewTables(pool, f.tables.Outbox())
	f.settings.Retry = fewAttempts
	f.consume()
	first, second := f.start(), f.start()
	first.awaitRunning()
	second.awaitRunning()
	stop := f.produceSteadily(300)
	f.awaitProgress()

	back := f.faults.Begin("fail-over", "database")
	f.exec("ALTER SYSTEM SET default_transaction_read_only = on")
	f.exec("SELECT pg_reload_conf()")
	first.await("a server that takes writes", func(c report.Report) bool {
		return c.State == report.Waiting && (c.Database.Code == report.ReadOnly || c.Database.Code == report.Unreachable)
	})
	require.NoError(t, standby.Promote(t.Context()))
	first.awaitRunning()
	require.NoError(t, primary.StopImmediate(t.Context()))
	second.awaitRunning()
	f.awaitProgress()
	back()
	stop()
	f.verdict()
	require.Zero(t, f.count("status = 'FAILED'"))
	require.Zero(t, f.count("attempts > 3"))
}
