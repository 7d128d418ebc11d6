package integration

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
	"github.com/relayfleet/relayfleet/relay/report"
	"github.com/relayfleet/relayfleet/relay/settings"
	"github.com/relayfleet/relayfleet/test/load"
	"github.com/relayfleet/relayfleet/test/relays"
)

const (
	// soon is far more than anything here takes on a busy machine.
	soon = 60 * time.Second
	// patience is how long a verdict waits for events of which none comes: longer
	// than the longest lease and pause here.
	patience = 30 * time.Second
	often    = 20 * time.Millisecond
)

// fleet is one test's own database, role, topic and settings, and its relays.
type fleet struct {
	t        *testing.T
	dir      string
	name     string
	role     string
	server   *postgres.Server
	owner    *pgxpool.Pool
	tables   load.Tables
	settings settings.Settings
	faults   load.Faults
	lease    time.Duration
	// binary is what start starts.
	binary string
	// secrets are what no output may hold.
	secrets []string
	relays  int
}

var fleets atomic.Int64

// newFleet makes everything that a relay needs, and starts none.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	return newFleetOn(t, database)
}

// newFleetOn is newFleet on a server of its own.
func newFleetOn(t *testing.T, server *postgres.Server) *fleet {
	t.Helper()
	f := &fleet{t: t, server: server, dir: t.TempDir(), name: "fleet" + strconv.FormatInt(fleets.Add(1), 10), lease: 5 * time.Second, binary: binary}
	f.role = "relay_" + f.name
	f.createDatabase()
	f.createTopic()
	f.settings = settings.Settings{
		Fleet:                settings.Fleet{Namespace: "shop", Name: f.name, UID: "uid-of-" + f.name},
		Table:                settings.Table(f.tables.Outbox()),
		Topic:                f.name,
		LeaseDurationSeconds: int(f.lease.Seconds()),
		BatchSize:            100,
		Database: settings.Database{
			URIFile: filepath.Join(f.dir, "uri"), TLS: settings.TLS{CAFile: filepath.Join(f.dir, "ca.crt")},
		},
		Kafka: settings.Kafka{BootstrapServers: broker.Addresses()},
	}
	f.write("uri", f.uri())
	f.write("ca.crt", read(t, server.CAFile()))
	return f
}

func (f *fleet) createDatabase() {
	changing.Lock()
	defer changing.Unlock()
	ctx := f.t.Context()
	require.NoError(f.t, f.server.CreateRole(ctx, f.role))
	require.NoError(f.t, f.server.CreateDatabase(ctx, f.name, "postgres"))
	f.secrets = append(f.secrets, f.server.Password(f.role))
	pool, err := pgxpool.New(ctx, f.server.URL(f.name, "postgres"))
	require.NoError(f.t, err)
	f.t.Cleanup(pool.Close)
	f.owner = pool
	f.tables = load.NewTables(pool, outbox.Table{Schema: "public", Name: "outbox"})
	require.NoError(f.t, f.tables.Create(ctx))
	f.exec(schema.Grants(f.tables.Outbox(), outbox.Relayfleet(), f.role))
}

func (f *fleet) createTopic() {
	f.t.Helper()
	require.NoError(f.t, broker.Admin().CreateTopic(f.t.Context(), admin.Topic{Name: f.name, Partitions: 4, Replicas: 1}))
}

// uri is the connection URI as a Secret has it: without TLS parameters.
func (f *fleet) uri() string {
	changing.Lock()
	defer changing.Unlock()
	uri, _, _ := strings.Cut(f.server.URL(f.name, f.role), "?")
	return uri
}

// changedURI is uri with a part replaced.
func (f *fleet) changedURI(change func(*url.URL)) string {
	u, err := url.Parse(f.uri())
	require.NoError(f.t, err)
	change(u)
	return u.String()
}

// rotatedURI is uri with another password.
func (f *fleet) rotatedURI(password string) string {
	return f.changedURI(func(u *url.URL) { u.User = url.UserPassword(f.role, password) })
}

// write replaces a file as a mounted Secret does: at once.
func (f *fleet) write(name, content string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	require.NoError(f.t, os.WriteFile(path+".next", []byte(content+"\n"), 0o600))
	require.NoError(f.t, os.Rename(path+".next", path))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func (f *fleet) exec(sql string) {
	f.t.Helper()
	_, err := f.owner.Exec(f.t.Context(), sql)
	require.NoError(f.t, err)
}

// count counts rows of the outbox.
func (f *fleet) count(where string, args ...any) (n int64) {
	f.t.Helper()
	require.NoError(f.t, f.owner.QueryRow(f.t.Context(), "SELECT count(*) FROM outbox WHERE "+where, args...).Scan(&n))
	return n
}

// produce commits events, and rolls others back.
func (f *fleet) produce(events int) {
	f.t.Helper()
	plan := load.Plan{RollBack: 0.2, Keys: 200}
	require.NoError(f.t, load.NewProducer(f.tables, plan).Burst(f.t.Context(), events))
}

// produceSteadily commits events until stop is called.
func (f *fleet) produceSteadily(perSecond float64) (stop func() load.Produced) {
	return f.produceAs(load.Plan{RollBack: 0.1, Keys: 200}, perSecond)
}

// produceAs is produceSteadily by a plan.
func (f *fleet) produceAs(plan load.Plan, perSecond float64) (stop func() load.Produced) {
	producer := load.NewProducer(f.tables, plan)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); producer.Run(ctx, perSecond) }()
	stop = func() load.Produced { cancel(); <-ended; return producer.Produced() }
	f.t.Cleanup(func() { stop() })
	return stop
}

// consume writes receipts until the test ends.
func (f *fleet) consume() {
	consumer := load.NewConsumer(f.tables, broker.Admin(), f.name)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		require.NoError(f.t, <-ended)
	})
}

// verdict waits for the end of the load and acquits it.
func (f *fleet) verdict() load.Verdict {
	f.t.Helper()
	v := f.look(0)
	require.NoError(f.t, v.Err(), "%s", v)
	f.t.Log(v)
	return v
}

// look waits for the end of the load, of which some rows may be FAILED.
func (f *fleet) look(mayFail int64) load.Verdict {
	f.t.Helper()
	checker := load.Checker{Tables: f.tables, Faults: &f.faults, Lease: f.lease, MayFail: mayFail}
	v, err := checker.Await(f.t.Context(), patience)
	require.NoError(f.t, err)
	return v
}

// relay is one process of a fleet.
type relay struct {
	*relays.Relay
	f *fleet
}

// start starts a relay that is stopped with the test; then everything that it
// has ever said is searched for secrets.
func (f *fleet) start() *relay {
	f.t.Helper()
	f.relays++
	name := f.name + "-" + strconv.Itoa(f.relays)
	started, err := relays.Start(relays.Options{Binary: f.binary, Dir: f.dir, Name: name, Settings: f.settings})
	require.NoError(f.t, err)
	r := &relay{started, f}
	f.t.Cleanup(func() {
		_ = r.Signal(syscall.SIGKILL)
		_, _ = r.Wait(context.Background())
		output := r.text()
		if f.t.Failed() {
			f.t.Logf("%s said:\n%s", name, output[max(0, len(output)-4000):])
		}
		f.requireNoSecret(output)
	})
	return r
}

func (f *fleet) requireNoSecret(text string) {
	f.t.Helper()
	for _, secret := range f.secrets {
		require.NotContains(f.t, text, secret)
	}
}

func (r *relay) text() string {
	output, err := r.Output()
	require.NoError(r.f.t, err)
	return output
}

// report asks for the report until there is one.
func (r *relay) report() (current report.Report) {
	r.f.t.Helper()
	r.await("a report", func(report.Report) bool { return true })
	current, err := r.Report(r.f.t.Context())
	require.NoError(r.f.t, err)
	data, err := report.Encode(current)
	require.NoError(r.f.t, err)
	r.f.requireNoSecret(string(data))
	return current
}

// await waits for a report that is as wanted.
func (r *relay) await(what string, wanted func(report.Report) bool) {
	r.f.t.Helper()
	var last report.Report
	for until := time.Now().Add(soon); time.Now().Before(until); time.Sleep(often) {
		current, err := r.Report(r.f.t.Context())
		if err == nil && wanted(current) {
			return
		}
		if err == nil {
			last = current
		}
	}
	require.Fail(r.f.t, "waited too long for "+what, "%+v", last)
}

func (r *relay) awaitRunning() {
	r.f.t.Helper()
	r.await("state Running", func(c report.Report) bool { return c.State == report.Running })
}

// awaitExit waits for the end of the process.
func (r *relay) awaitExit() int {
	r.f.t.Helper()
	ctx, cancel := context.WithTimeout(r.f.t.Context(), soon)
	defer cancel()
	code, err := r.Wait(ctx)
	require.NoError(r.f.t, err)
	return code
}

// freezeHolding stops the process at a moment at which it holds claims and, if
// delivered is set, the consumer has got some of their events already: between
// the broker's answer and the settle. It returns the rows that are held.
func (r *relay) freezeHolding(delivered bool) (held []int64) {
	r.f.t.Helper()
	wanted := "SELECT id FROM outbox WHERE status = 'INPROGRESS' ORDER BY id"
	caught := "SELECT EXISTS (SELECT 1 FROM outbox WHERE status = 'INPROGRESS')"
	if delivered {
		caught = "SELECT EXISTS (SELECT 1 FROM outbox JOIN receipts USING (event_id) WHERE status = 'INPROGRESS')"
	}
	until := time.Now().Add(soon)
	for time.Now().Before(until) {
		require.NoError(r.f.t, r.Freeze(r.f.t.Context()))
		if r.f.becomesTrue(caught, 250*time.Millisecond) && r.f.staysTrue(caught, inFlight) {
			rows, err := r.f.owner.Query(r.f.t.Context(), wanted)
			require.NoError(r.f.t, err)
			held, err = pgx.CollectRows(rows, pgx.RowTo[int64])
			require.NoError(r.f.t, err)
			return held
		}
		require.NoError(r.f.t, r.Thaw())
		time.Sleep(5 * time.Millisecond) // Let it come to another moment.
	}
	require.Fail(r.f.t, "the relay was never caught in the middle of a batch")
	return nil
}

// inFlight is enough for a statement that the server had got before the freeze.
const inFlight = 200 * time.Millisecond

// staysTrue asks again after a while.
func (f *fleet) staysTrue(question string, after time.Duration) bool {
	f.t.Helper()
	time.Sleep(after)
	return f.becomesTrue(question, 0)
}

// becomesTrue asks the database until the answer is yes or the time is over.
func (f *fleet) becomesTrue(question string, within time.Duration) bool {
	f.t.Helper()
	for until := time.Now().Add(within); ; time.Sleep(often) {
		var yes bool
		require.NoError(f.t, f.owner.QueryRow(f.t.Context(), question).Scan(&yes))
		if yes || time.Now().After(until) {
			return yes
		}
	}
}
