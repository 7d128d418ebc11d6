package bench

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay"
	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
	"github.com/relayfleet/relayfleet/relay/settings"
	"github.com/relayfleet/relayfleet/test/load"
	"github.com/relayfleet/relayfleet/test/relays"
)

const (
	events     = 200_000
	batchSize  = 500
	partitions = 12
	topic      = "orders.events"
	role       = "relay"
	lease      = 30 * time.Second
	// patience is how long nothing may happen before a run has failed.
	patience = time.Minute
)

// serverSettings are those of a server whose memory is meant for its tables: the
// default of 128 MB is less than the outbox, and would measure the disk.
var serverSettings = map[string]string{"shared_buffers": "2GB", "max_wal_size": "4GB"}

var plan = load.Plan{Keys: 10_000, PayloadBytes: 512}

// table is a preloaded outbox in a database of its own, on a server of its own:
// as durable as PostgreSQL is unless somebody says otherwise.
type table struct {
	tables  load.Tables
	owner   *pgxpool.Pool
	uriFile string
	caFile  string
}

func newTable(b *testing.B) table {
	b.Helper()
	ctx := b.Context()
	server := postgres.StartForTest(b, postgres.Options{Settings: serverSettings})
	require.NoError(b, server.CreateRole(ctx, role))
	require.NoError(b, server.CreateDatabase(ctx, "shop", "postgres"))
	pool, err := pgxpool.New(ctx, server.URL("shop", "postgres"))
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	t := table{owner: pool, uriFile: filepath.Join(b.TempDir(), "uri"), caFile: server.CAFile()}
	t.tables = load.NewTables(pool, outbox.Table{Schema: "public", Name: "outbox"})
	require.NoError(b, t.tables.Create(ctx))
	t.exec(b, schema.Grants(t.tables.Outbox(), outbox.Relayfleet(), role))
	require.NoError(b, load.NewProducer(t.tables, plan).Burst(ctx, events))
	t.exec(b, "VACUUM ANALYZE outbox")
	t.exec(b, "CHECKPOINT")
	u, err := url.Parse(server.URL("shop", role))
	require.NoError(b, err)
	u.RawQuery = ""
	require.NoError(b, os.WriteFile(t.uriFile, []byte(u.String()), 0o600))
	return t
}

func (t table) exec(b *testing.B, sql string) {
	b.Helper()
	_, err := t.owner.Exec(b.Context(), sql)
	require.NoError(b, err)
}

// awaitDrained waits until nothing is unsent. It asks seldom, because it is not
// part of what is measured.
func (t table) awaitDrained(b *testing.B) {
	b.Helper()
	require.Eventually(b, func() bool {
		var unsent bool
		err := t.owner.QueryRow(b.Context(), "SELECT EXISTS (SELECT 1 FROM outbox WHERE status IN ('READY', 'INPROGRESS'))").Scan(&unsent)
		require.NoError(b, err)
		return !unsent
	}, 10*patience, 250*time.Millisecond)
}

// rate is how many events per second were settled between the first settle and
// the last, on the database's clock: without the start of the relay.
func (t table) rate(b *testing.B) float64 {
	b.Helper()
	var sent int
	var seconds float64
	require.NoError(b, t.owner.QueryRow(b.Context(), `
		SELECT count(*) FILTER (WHERE sent_at > (SELECT min(sent_at) FROM outbox)),
		       extract(epoch FROM max(sent_at) - min(sent_at))::float8
		FROM outbox WHERE status = 'SENT'`).Scan(&sent, &seconds))
	return float64(sent) / seconds
}

func BenchmarkKafka(b *testing.B) {
	cluster := kafka.StartForTest(b, kafka.Options{})
	binary, err := relays.Build(b.Context(), b.TempDir())
	require.NoError(b, err)
	for b.Loop() {
		b.StopTimer()
		t := newTable(b)
		t.newTopic(b, cluster.Admin())
		b.StartTimer()
		t.drainIntoKafka(b, cluster, binary)
		b.StopTimer()
		t.check(b, cluster.Admin())
		b.StartTimer()
	}
}

func (t table) newTopic(b *testing.B, cluster admin.Cluster) {
	b.Helper()
	require.NoError(b, cluster.CreateTopic(b.Context(), admin.Topic{Name: topic, Partitions: partitions, Replicas: 1}))
}

func (t table) drainIntoKafka(b *testing.B, cluster *kafka.Cluster, binary string) {
	b.Helper()
	r, err := relays.Start(relays.Options{Binary: binary, Dir: b.TempDir(), Name: "relay", Settings: settings.Settings{
		Fleet:                settings.Fleet{Namespace: "shop", Name: "orders"},
		Table:                settings.Table(t.tables.Outbox()),
		Topic:                topic,
		BatchSize:            batchSize,
		LeaseDurationSeconds: int(lease.Seconds()),
		Database:             settings.Database{URIFile: t.uriFile, TLS: settings.TLS{CAFile: t.caFile}},
		Kafka:                settings.Kafka{BootstrapServers: cluster.Addresses()},
	}})
	require.NoError(b, err)
	t.awaitDrained(b)
	resident, err := r.MaxResident()
	require.NoError(b, err)
	require.NoError(b, r.Signal(syscall.SIGTERM))
	code, err := r.Wait(b.Context())
	require.NoError(b, err)
	require.Zero(b, code)
	report(b, t.rate(b), r.ProcessorTime())
	b.ReportMetric(float64(resident)/(1<<20), "MB-resident")
}

func report(b *testing.B, rate float64, processor time.Duration) {
	b.Helper()
	b.ReportMetric(rate, "events/s")
	b.ReportMetric(events/processor.Seconds(), "events/cpu-s")
	b.ReportMetric(0, "ns/op") // The time of the whole run says nothing.
}

// check reads the topic afterwards, so that it does not disturb.
func (t table) check(b *testing.B, cluster admin.Cluster) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- load.NewConsumer(t.tables, cluster, topic).Run(ctx) }()
	verdict, err := load.Checker{Tables: t.tables, Lease: lease}.Await(ctx, patience)
	cancel()
	require.NoError(b, <-ended)
	require.NoError(b, err)
	require.NoError(b, verdict.Err())
	b.Log(verdict)
}

// instant is a broker that costs nothing.
type instant struct{}

func (instant) Publish(_ context.Context, batch event.Batch, _ *event.Deadline) ([]event.Outcome, error) {
	outcomes := make([]event.Outcome, len(batch.Events))
	for i := range outcomes {
		outcomes[i].Kind = event.Published
	}
	return outcomes, nil
}

func BenchmarkDatabaseOnly(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		t := newTable(b)
		b.StartTimer()
		t.drainIntoNothing(b)
	}
}

func (t table) drainIntoNothing(b *testing.B) {
	b.Helper()
	db, err := outbox.Open(outbox.Config{URIFile: t.uriFile, CAFile: t.caFile})
	require.NoError(b, err)
	defer db.Close()
	store, err := rows.New(db, rows.Config{Table: t.tables.Outbox(), Mapping: outbox.Relayfleet(), Lease: lease})
	require.NoError(b, err)
	var claims, settles mean
	r := relay.New(relay.Config{
		Store: store, Publishers: []relay.Publisher{instant{}},
		CheckDatabase: func(ctx context.Context) error { return schema.Check(ctx, db, t.tables.Outbox(), outbox.Relayfleet()) },
		CheckBroker:   func(context.Context) error { return nil },
		BatchSize:     batchSize,
		Events: relay.Events{
			Claimed: func(_ event.Batch, took time.Duration) { claims.add(took) },
			Settled: func(_ event.Batch, _ event.Settled, took time.Duration) { settles.add(took) },
		},
	})
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	before := ownProcessorTime(b)
	go func() { defer close(ended); r.Run(ctx) }()
	t.awaitDrained(b)
	used := ownProcessorTime(b) - before
	stop()
	<-ended
	report(b, t.rate(b), used)
	b.ReportMetric(claims.milliseconds(), "ms/claim")
	b.ReportMetric(settles.milliseconds(), "ms/settle")
}

// mean is that of durations that one goroutine adds.
type mean struct {
	sum   time.Duration
	count int
}

func (m *mean) add(d time.Duration) { m.sum, m.count = m.sum+d, m.count+1 }

func (m *mean) milliseconds() float64 {
	return m.sum.Seconds() * 1000 / float64(max(1, m.count))
}

func ownProcessorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
