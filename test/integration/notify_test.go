package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/report"
	"github.com/relayfleet/relayfleet/relay/settings"
	"github.com/relayfleet/relayfleet/test/load"
)

// apart is how far apart commits are, so that the relay waits for each: after
// activity it asks the table ever less often, and a wait of this length has begun.
const apart = 400 * time.Millisecond

// trigger is the one that the documentation gives.
func trigger(t *testing.T) string {
	t.Helper()
	_, rest, found := strings.Cut(read(t, "../../docs/tables.md"), "\n## Notifications\n")
	require.True(t, found)
	_, rest, _ = strings.Cut(rest, "```sql\n")
	statements, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	return statements
}

func newNotifiedFleet(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t)
	f.settings.WakeUp = settings.WakeUp{Mode: settings.WakeUpNotify, Channel: "outbox"}
	f.exec(trigger(t))
	return f
}

// commit commits one event and waits until it is published.
func (f *fleet) commit() {
	f.t.Helper()
	time.Sleep(apart)
	require.NoError(f.t, load.NewProducer(f.tables, load.Plan{}).Burst(f.t.Context(), 1))
	f.awaitSent()
}

func (f *fleet) awaitSent() {
	f.t.Helper()
	require.True(f.t, f.becomesTrue("SELECT NOT EXISTS (SELECT 1 FROM outbox WHERE status <> 'SENT')", soon))
}

func (r *relay) awaitNotifications(want report.Code) {
	r.f.t.Helper()
	r.await("notifications "+string(want), func(c report.Report) bool { return c.Notifications == want })
}

// Commits that come one by one are published because a notification has ended the
// wait for them, not because it was over.
func TestNotificationsWakeARelay(t *testing.T) {
	t.Parallel()
	f := newNotifiedFleet(t)
	f.consume()
	r := f.start()
	r.awaitNotifications(report.OK)
	const commits = 20
	for range commits {
		f.commit()
	}
	hinted := r.report().Rates.Hinted
	require.GreaterOrEqual(t, hinted, int64(commits/2), "a timer may be faster now and then")
	require.LessOrEqual(t, hinted, int64(commits))
	require.Contains(t, r.text(), "Notifications are heard")
	f.verdict()

	// A poller is never woken, and says nothing of notifications.
	g := newFleet(t)
	g.exec(trigger(t))
	g.consume()
	poller := g.start()
	poller.awaitRunning()
	for range 5 {
		g.commit()
	}
	require.Zero(t, poller.report().Rates.Hinted)
	require.Empty(t, poller.report().Notifications)
	g.verdict()
}

// Without the trigger nothing comes, though the relay could hear it. It finds that
// out by the rows that it finds, and polls, until a notification comes again.
func TestARelayWhoseTriggerIsDroppedPollsAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newNotifiedFleet(t)
	f.consume()
	r := f.start()
	r.awaitNotifications(report.OK)
	f.exec("DROP TRIGGER outbox_notify ON outbox; DROP FUNCTION outbox_notify")
	f.commitUntil(r, report.NotAnnounced)
	require.Contains(t, r.text(), "New rows come without a notification")
	require.Equal(t, report.Running, r.report().State)
	f.exec(trigger(t))
	f.commitUntil(r, report.OK)
	f.verdict()
}

func (f *fleet) commitUntil(r *relay, want report.Code) {
	f.t.Helper()
	for until := time.Now().Add(2 * soon); time.Now().Before(until); {
		f.commit()
		if r.report().Notifications == want {
			return
		}
	}
	require.Fail(f.t, "waited too long for "+string(want))
}

// A connection that listens is ended by the server: the relay says so, goes on by
// polling, and listens again.
func TestARelayThatIsCutOffFromNotificationsPollsAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newNotifiedFleet(t)
	f.consume()
	r := f.start()
	r.awaitNotifications(report.OK)
	f.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'")
	r.awaitNotifications(report.NotHeard)
	for range 3 {
		f.commit()
	}
	require.Contains(t, r.text(), "Notifications are not heard")
	r.awaitNotifications(report.OK)
	f.commit()
	f.verdict()
}

// Behind a pooler that passes no notifications on, they cannot be asked for.
func TestNotificationsThroughAPoolerAreRefused(t *testing.T) {
	t.Parallel()
	f := newNotifiedFleet(t)
	f.settings.Database.Pooling = settings.PoolingTransaction
	r := f.start()
	require.Equal(t, 1, r.awaitExit())
	require.Contains(t, r.text(), "such a pooler passes no notifications on")
}
