package load_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/publish"
	"github.com/relayfleet/relayfleet/test/load"
)

const (
	topic = "orders.events"
	lease = 10 * time.Second
	// patience is for what never comes: how long a verdict waits for it.
	patience = 3 * time.Second
)

var server *postgres.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	var err error
	if server, err = postgres.Start(ctx, postgres.Options{NotDurable: true, DieWithCaller: true}); err != nil {
		fmt.Fprintln(os.Stderr, "start PostgreSQL:", err)
		return 1
	}
	defer func() { _ = server.Remove(ctx) }()
	return m.Run()
}

// lab is a load with a broker, and a hand in place of a relay, so that the
// checker can be shown everything that a relay must never do.
type lab struct {
	t       *testing.T
	pool    *pgxpool.Pool
	tables  load.Tables
	cluster admin.Cluster
	send    sarama.SyncProducer
	faults  load.Faults
}

func newLab(t *testing.T) *lab {
	t.Helper()
	t.Parallel()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, topic))
	require.NoError(t, err)
	t.Cleanup(broker.Close)
	l := &lab{t: t, cluster: admin.Cluster{Addresses: broker.ListenAddrs()}}
	config := l.cluster.Config()
	config.Producer.Return.Successes = true
	l.send, err = sarama.NewSyncProducer(l.cluster.Addresses, config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.send.Close() })
	l.pool = newPool(t)
	l.tables = load.NewTables(l.pool, outbox.Table{Schema: "shop", Name: "outbox"})
	require.NoError(t, l.tables.Create(t.Context()))
	return l
}

func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	name := "t" + strconv.FormatInt(time.Now().UnixNano(), 36)
	require.NoError(t, server.CreateDatabase(t.Context(), name, "postgres"))
	pool, err := pgxpool.New(t.Context(), server.URL(name, "postgres"))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// consume starts a consumer that ends with the test, or when stop is called.
func (l *lab) consume() (consumer *load.Consumer, stop func()) {
	consumer = load.NewConsumer(l.tables, l.cluster, topic)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			require.NoError(l.t, <-ended)
		}
		stopped = true
	}
	l.t.Cleanup(stop)
	return consumer, stop
}

// row is what the hand knows of an unsent row.
type row struct {
	id          int64
	name        string
	key, packet []byte
}

// unsent are the rows that wait, the oldest first.
func (l *lab) unsent() []row {
	rows, err := l.pool.Query(l.t.Context(), "SELECT id, event_id::text, key::bytea, payload FROM shop.outbox WHERE status = 'READY' ORDER BY id")
	require.NoError(l.t, err)
	defer rows.Close()
	var found []row
	for rows.Next() {
		var r row
		require.NoError(l.t, rows.Scan(&r.id, &r.name, &r.key, &r.packet))
		found = append(found, r)
	}
	require.NoError(l.t, rows.Err())
	return found
}

func (l *lab) publish(rows ...row) {
	for _, r := range rows {
		_, _, err := l.send.SendMessage(&sarama.ProducerMessage{
			Topic: topic, Key: sarama.ByteEncoder(r.key), Value: sarama.ByteEncoder(r.packet), Timestamp: time.Now(),
			Headers: []sarama.RecordHeader{{Key: []byte(publish.EventIDHeader), Value: []byte(r.name)}},
		})
		require.NoError(l.t, err)
	}
}

// settle records every row as sent, true or not.
func (l *lab) settle() {
	_, err := l.pool.Exec(l.t.Context(), "UPDATE shop.outbox SET status = 'SENT', sent_at = now() WHERE status = 'READY'")
	require.NoError(l.t, err)
}

func (l *lab) verdict() load.Verdict {
	checker := load.Checker{Tables: l.tables, Faults: &l.faults, Lease: lease, Ordered: true}
	v, err := checker.Await(l.t.Context(), patience)
	require.NoError(l.t, err)
	return v
}

func TestABurstThatArrivesOnceIsAcquitted(t *testing.T) {
	l := newLab(t)
	producer := load.NewProducer(l.tables, load.Plan{Keys: 50, PayloadBytes: 300, RollBack: 0.2})
	require.NoError(t, producer.Burst(t.Context(), 300))
	rows := l.unsent()
	require.Len(t, rows, 300)
	require.Len(t, rows[0].packet, 300)
	require.Positive(t, producer.Produced().RolledBack)
	consumer, _ := l.consume()
	l.publish(rows...)
	l.settle()
	v := l.verdict()
	require.NoError(t, v.Err())
	require.Equal(t, "committed 300, received 300, lost 0, phantoms 0, duplicates 0", v.String())
	require.Equal(t, load.Consumed{Deliveries: 300}, consumer.Consumed())
}

func TestASentRowThatNobodyReceivedIsLost(t *testing.T) {
	l := newLab(t)
	require.NoError(t, load.NewProducer(l.tables, load.Plan{}).Burst(t.Context(), 20))
	l.consume()
	rows := l.unsent()
	l.publish(rows[1:]...)
	l.settle()
	v := l.verdict()
	require.EqualValues(t, 1, v.Lost)
	require.Equal(t, []string{rows[0].name}, v.LostEvents)
	require.ErrorContains(t, v.Err(), "1 events are lost: "+rows[0].name)
}

func TestAnUnsentRowIsNotLostButNoVerdictYet(t *testing.T) {
	l := newLab(t)
	require.NoError(t, load.NewProducer(l.tables, load.Plan{}).Burst(t.Context(), 3))
	v := l.verdict()
	require.Zero(t, v.Lost)
	require.ErrorContains(t, v.Err(), "3 rows are not sent yet")
}

func TestAnEventOfARolledBackTransactionIsAPhantom(t *testing.T) {
	l := newLab(t)
	l.consume()
	e := load.NewEvent("nobody", 0)
	l.publish(row{name: e.ID.String(), key: []byte("nobody"), packet: e.Payload})
	require.Eventually(t, func() bool { return l.verdict().Phantoms == 1 }, 30*time.Second, 50*time.Millisecond)
	require.ErrorContains(t, l.verdict().Err(), e.ID.String())
}

func TestOnlyAFaultWithinALeaseExplainsADuplicate(t *testing.T) {
	l := newLab(t)
	require.NoError(t, load.NewProducer(l.tables, load.Plan{}).Burst(t.Context(), 5))
	l.consume()
	rows := l.unsent()
	longAgo := time.Now().Add(-time.Hour)
	l.faults.Add(load.Fault{Kind: "restart", Began: longAgo, Ended: longAgo})
	l.publish(rows...)
	l.publish(rows[2])
	l.settle()
	require.Eventually(t, func() bool { return len(l.verdict().Duplicates) == 1 }, 30*time.Second, 50*time.Millisecond)
	v := l.verdict()
	require.Equal(t, rows[2].name, v.Duplicates[0].EventID)
	require.ErrorContains(t, v.Err(), "1 duplicates are not explained by a fault: "+rows[2].name)

	l.faults.Add(load.Fault{Kind: "kill", Target: "relay-1", Began: v.Duplicates[0].Earlier, Ended: v.Duplicates[0].Earlier})
	v = l.verdict()
	require.NoError(t, v.Err())
	require.Equal(t, "committed 5, received 5, lost 0, phantoms 0, duplicates 1 (kill: 1)", v.String())
}

func TestAFaultAfterTheSecondDeliveryExplainsNothing(t *testing.T) {
	l := newLab(t)
	require.NoError(t, load.NewProducer(l.tables, load.Plan{}).Burst(t.Context(), 1))
	l.consume()
	rows := l.unsent()
	l.publish(rows[0], rows[0])
	l.settle()
	l.faults.Add(load.Fault{Kind: "kill", Began: time.Now().Add(time.Second), Ended: time.Now().Add(time.Second)})
	require.Eventually(t, func() bool { return len(l.verdict().Unexplained()) == 1 }, 30*time.Second, 50*time.Millisecond)
}

func TestALaterEventBeforeAnEarlierOneOfItsKeyIsSeen(t *testing.T) {
	l := newLab(t)
	require.NoError(t, load.NewProducer(l.tables, load.Plan{Keys: 1, Writers: 1}).Burst(t.Context(), 4))
	l.consume()
	rows := l.unsent()
	l.publish(rows[0], rows[2], rows[1], rows[3], rows[1])
	l.settle()
	require.Eventually(t, func() bool { return len(l.verdict().Duplicates) == 1 }, 30*time.Second, 50*time.Millisecond)
	require.EqualValues(t, 1, l.verdict().OutOfOrder, "a repeat of an earlier event is not an inversion")
}

func TestAnEventThatLaterOnesOfItsKeyHavePassedByIsSeen(t *testing.T) {
	l := newLab(t)
	require.NoError(t, load.NewProducer(l.tables, load.Plan{Keys: 1, Writers: 1}).Burst(t.Context(), 3))
	l.consume()
	rows := l.unsent()
	l.publish(rows[0], rows[2])
	checker := load.Checker{Tables: l.tables, Ordered: true, MayFail: 1}
	require.Eventually(t, func() bool {
		v, err := checker.Check(t.Context())
		return err == nil && v.PassedBy == 1 && v.Disordered() == 1
	}, 30*time.Second, 50*time.Millisecond)

	_, err := l.pool.Exec(t.Context(), "UPDATE shop.outbox SET status = 'FAILED', failed_at = now() WHERE id = $1", rows[1].id)
	require.NoError(t, err)
	l.settle()
	v, err := checker.Check(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, v.Skipped)
	require.ErrorContains(t, v.Err(), "1 events came after a later one of their key, or not at all")
	checker.MaySkip = true
	v, err = checker.Check(t.Context())
	require.NoError(t, err)
	require.NoError(t, v.Err())
}

func TestAPlanWithAHotKeyAndDelays(t *testing.T) {
	l := newLab(t)
	plan := load.Plan{Keys: 100, Writers: 1, Hot: 0.5, Delayed: 0.5, MaxDelay: time.Hour}
	require.NoError(t, load.NewProducer(l.tables, plan).Burst(t.Context(), 1000))
	var hottest, delayed int
	require.NoError(t, l.pool.QueryRow(t.Context(), "SELECT max(n) FROM (SELECT count(*) AS n FROM shop.outbox GROUP BY key) AS k").Scan(&hottest))
	require.NoError(t, l.pool.QueryRow(t.Context(), "SELECT count(*) FROM shop.outbox WHERE next_attempt_at > created_at").Scan(&delayed))
	require.InDelta(t, 505, hottest, 100)
	require.InDelta(t, 500, delayed, 100)
}

func TestAHeaderThatNamesAnotherEventIsSeen(t *testing.T) {
	l := newLab(t)
	require.NoError(t, load.NewProducer(l.tables, load.Plan{}).Burst(t.Context(), 2))
	l.consume()
	rows := l.unsent()
	rows[0].name, rows[1].name = rows[1].name, rows[0].name
	l.publish(rows...)
	l.settle()
	require.Eventually(t, func() bool { return l.verdict().Misnamed == 2 }, 30*time.Second, 50*time.Millisecond)
	require.Error(t, l.verdict().Err())
}

func TestAFailedRowIsNotLostAndNotRightUnlessSaid(t *testing.T) {
	l := newLab(t)
	require.NoError(t, load.NewProducer(l.tables, load.Plan{}).Burst(t.Context(), 2))
	_, err := l.pool.Exec(t.Context(), "UPDATE shop.outbox SET status = 'FAILED', failed_at = now()")
	require.NoError(t, err)
	v := l.verdict()
	require.EqualError(t, v.Err(), "2 rows are FAILED that should not be")
	checker := load.Checker{Tables: l.tables, MayFail: 2}
	v, err = checker.Check(t.Context())
	require.NoError(t, err)
	require.NoError(t, v.Err())
}

func TestARestartedConsumerMissesAndRepeatsNothing(t *testing.T) {
	l := newLab(t)
	require.NoError(t, load.NewProducer(l.tables, load.Plan{}).Burst(t.Context(), 100))
	rows := l.unsent()
	first, stop := l.consume()
	l.publish(rows[:50]...)
	require.Eventually(t, func() bool { return first.Consumed().Deliveries > 0 }, 30*time.Second, 10*time.Millisecond)
	stop()
	l.publish(rows[50:]...)
	l.settle()
	l.consume()
	v := l.verdict()
	require.NoError(t, v.Err())
	require.Empty(t, v.Duplicates)
}

func TestRunKeepsItsRateAndRollsSomeBack(t *testing.T) {
	l := newLab(t)
	producer := load.NewProducer(l.tables, load.Plan{RollBack: 0.5})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() { defer close(ended); producer.Run(ctx, 500) }()
	require.Eventually(t, func() bool { p := producer.Produced(); return p.Committed >= 100 && p.RolledBack >= 50 },
		30*time.Second, 10*time.Millisecond)
	cancel()
	<-ended
	p := producer.Produced()
	require.LessOrEqual(t, p.Committed-int64(len(l.unsent())), p.Failed, "the rows are those that were committed")
}

func TestTheLiveViewCountsWhatTheVerdictCounts(t *testing.T) {
	l := newLab(t)
	require.NoError(t, load.NewProducer(l.tables, load.Plan{}).Burst(t.Context(), 30))
	l.consume()
	live := load.NewLive(l.tables)
	s, err := live.Sample(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 30, s.Committed)
	require.EqualValues(t, 30, s.Unsent)
	rows := l.unsent()
	l.publish(rows[3:]...)
	l.publish(rows[5])
	l.settle()
	var total float64
	require.Eventually(t, func() bool {
		s, err = live.Sample(t.Context())
		require.NoError(t, err)
		total += s.PerSecond
		return s.Lost == 3 && s.Received == 27 && s.Duplicates == 1
	}, 30*time.Second, 500*time.Millisecond)
	require.Positive(t, total)
	require.Zero(t, s.Unsent)
}
