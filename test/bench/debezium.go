package main

import (
	"context"
	"net"
	"net/http"

	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/test/connect"
)

const (
	connector = "bench"
	// warmUp is how many events Debezium moves before it is measured: a virtual
	// machine gets faster with what it has done.
	warmUp = 50_000
)

// debezium is Debezium's outbox event router on Kafka Connect standalone. Its
// virtual machine and its connector are started and warm before the table is
// filled; what is measured begins with the connector's resumption.
type debezium struct {
	libraries string
	worker    *connect.Connect
}

func newDebezium(ctx context.Context, steps service.Steps) (*debezium, error) {
	libraries, err := connect.Libraries(ctx, steps)
	return &debezium{libraries: libraries}, err
}

func (*debezium) name() string { return "Debezium " + connect.Version }

func (*debezium) serverSettings() map[string]string { return map[string]string{"wal_level": "logical"} }

func (*debezium) insert() string { return insertEvents }

func (d *debezium) prepare(ctx context.Context, s *stage) (int, error) {
	if err := s.createOutbox(ctx); err != nil {
		return 0, err
	}
	if err := d.launch(ctx, s); err != nil {
		return 0, err
	}
	if err := d.worker.Call(ctx, http.MethodPost, "/connectors", map[string]any{"name": connector, "config": d.config(s)}); err != nil {
		return 0, err
	}
	if err := d.awaitSlot(ctx, s); err != nil {
		return 0, err
	}
	if err := s.fill(ctx, insertEvents, warmUp); err != nil {
		return 0, err
	}
	reader, err := openTopic(s.cluster, s.topic)
	if err != nil {
		return 0, err
	}
	defer reader.close()
	if _, _, err := reader.reach(ctx, warmUp); err != nil {
		return 0, err
	}
	return warmUp, d.worker.Call(ctx, http.MethodPut, "/connectors/"+connector+"/stop", nil)
}

func (d *debezium) start(ctx context.Context, _ *stage) error {
	return d.worker.Call(ctx, http.MethodPut, "/connectors/"+connector+"/resume", nil)
}

func (*debezium) settled(context.Context, *stage) (float64, error) { return 0, nil }

func (d *debezium) process() service.Process { return d.worker.Process }

func (d *debezium) stop(ctx context.Context) error { return d.worker.Stop(ctx) }

// launch tunes Connect as far as its documentation goes: large producer batches,
// and a linger of 1 ms.
func (d *debezium) launch(ctx context.Context, s *stage) (err error) {
	d.worker, err = connect.Start(ctx, connect.Options{
		Libraries: d.libraries, Dir: s.dir, Bootstrap: s.cluster.Addresses()[0], Java: []string{"-Xms256m", "-Xmx1g"},
		Worker: `key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.converters.ByteArrayConverter
offset.flush.interval.ms=1000
producer.linger.ms=1
producer.batch.size=262144
producer.buffer.memory=67108864
producer.compression.type=lz4
`,
	})
	return err
}

func (d *debezium) config(s *stage) map[string]string {
	host, port, _ := net.SplitHostPort(s.server.Address())
	return map[string]string{
		"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "tasks.max": "1",
		"database.hostname": host, "database.port": port, "database.sslmode": "require",
		"database.user": "postgres", "database.password": s.server.Password("postgres"), "database.dbname": database,
		"topic.prefix": "bench", "table.include.list": "public.outbox", "plugin.name": "pgoutput",
		"publication.autocreate.mode": "filtered", "snapshot.mode": "no_data", "slot.name": connector,
		"binary.handling.mode": "bytes", "tombstones.on.delete": "false", "skipped.operations": "u,d,t",
		"poll.interval.ms": "5", "max.batch.size": "8192", "max.queue.size": "65536",
		"transforms": "outbox", "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
		"transforms.outbox.table.field.event.id": "event_id", "transforms.outbox.table.field.event.key": "key",
		"transforms.outbox.table.field.event.payload": "payload", "transforms.outbox.route.by.field": "key",
		"transforms.outbox.route.topic.replacement": s.topic,
	}
}

// awaitSlot waits until changes are followed: the connector does not see what
// was committed before.
func (d *debezium) awaitSlot(ctx context.Context, s *stage) error {
	return d.worker.Await(ctx, "the connector follows changes", func() (active bool, err error) {
		err = s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_replication_slots WHERE slot_name = $1 AND active)", connector).Scan(&active)
		return active, err
	})
}
