package integration

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	dataplane "github.com/relayfleet/relayfleet/relay"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
	"github.com/relayfleet/relayfleet/relay/publish"
	"github.com/relayfleet/relayfleet/relay/settings"
	"github.com/relayfleet/relayfleet/test/load"
)

// addPoison commits one event, due before all that come later, and returns its id.
func (f *fleet) addPoison() string {
	f.t.Helper()
	poison := load.NewEvent("poison", 100)
	require.NoError(f.t, load.NewProducer(f.tables, load.Plan{}).Commit(f.t.Context(), poison))
	return poison.ID.String()
}

// A relay that claims the poison is killed by SIGKILL before it can record
// anything of its batch.
func TestAPoisonThatKillsItsRelaysTakesNoOtherAlong(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.settings.Retry = settings.Retry{MaxAttempts: 3}
	f.produce(2500)
	poison := f.addPoison()
	f.produce(2500)
	// Nothing of a batch that holds the poison is recorded until its relay dies.
	f.exec(`CREATE FUNCTION deadly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'deadly'; END $$`)
	f.exec(`CREATE TRIGGER deadly BEFORE UPDATE ON outbox FOR EACH ROW
		WHEN (NEW.status = 'SENT' AND NEW.event_id = '` + poison + `') EXECUTE FUNCTION deadly()`)
	holds := "event_id = $1 AND status = 'INPROGRESS' AND generation > $2"

	deaths := 0
	for r := f.start(); f.count("status IN ('READY', 'INPROGRESS')") > 0; time.Sleep(often) {
		if f.count(holds, poison, deaths) > 0 {
			require.NoError(t, r.Signal(syscall.SIGKILL))
			require.Equal(t, 137, r.awaitExit())
			deaths++
			require.LessOrEqual(t, deaths, 10)
			r = f.start()
		}
	}
	require.GreaterOrEqual(t, deaths, 3)
	require.EqualValues(t, 5000, f.count("status = 'SENT'"))
	require.EqualValues(t, 1, f.count("status = 'FAILED' AND event_id = $1 AND last_error LIKE '%may have been published%'", poison))
}

// silent is a publisher whose broker gives no answer for a batch with the poison.
type silent struct {
	*publish.Producer
	poison string
}

func (s silent) Publish(ctx context.Context, b event.Batch, deadline *event.Deadline) ([]event.Outcome, error) {
	if slices.ContainsFunc(b.Events, func(e event.Event) bool { return e.ID == s.poison }) {
		return make([]event.Outcome, len(b.Events)), errors.New("the connection was closed")
	}
	return s.Producer.Publish(ctx, b, deadline)
}

func TestARecordThatTheBrokerNeverAnswersFailsAloneAndStopsNobody(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.produce(1000)
	poison := f.addPoison()
	f.produce(1000)
	f.consume()

	var pauses, suspicions atomic.Int64
	db, err := outbox.Open(outbox.Config{URIFile: filepath.Join(f.dir, "uri"), CAFile: filepath.Join(f.dir, "ca.crt")})
	require.NoError(t, err)
	defer db.Close()
	store, err := rows.New(db, rows.Config{Table: f.tables.Outbox(), Mapping: outbox.Relayfleet(), Lease: f.lease})
	require.NoError(t, err)
	c := dataplane.Config{
		Store: store, Abilities: store.Abilities(), BatchSize: 100, MaxClaim: 4 * f.lease,
		CheckDatabase: db.Refresh,
		Retry:         dataplane.RetryPolicy{MaxAttempts: 3, MaxAge: time.Hour, Backoff: time.Second, MaxBackoff: time.Minute},
		Events: dataplane.Events{
			Paused:    func(s dataplane.Subject, err error) { t.Log(s, err); pauses.Add(1) },
			Suspected: func(event.Batch, error) { suspicions.Add(1) },
		},
	}
	for range 3 {
		producer, err := publish.New(publish.Config{Servers: broker.Addresses(), Topic: f.name})
		require.NoError(t, err)
		defer producer.Close()
		c.Publishers, c.CheckBroker = append(c.Publishers, silent{producer, poison}), producer.Probe
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		dataplane.New(c).Run(ctx)
	}()
	v := f.look(1)
	stop()
	<-ended
	require.NoError(t, v.Err())
	require.EqualValues(t, 2000, f.count("status = 'SENT'"))
	require.EqualValues(t, 1, f.count("status = 'FAILED' AND event_id = $1 AND last_error LIKE '%may have been published%'", poison))
	require.Zero(t, pauses.Load(), "the broker is well")
	require.GreaterOrEqual(t, suspicions.Load(), int64(3))
}
