package main

import (
	"bytes"
	"context"
	_ "embed" // for the connector's parts
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
)

const (
	debeziumVersion = "3.6.1.Final"
	connector       = "bench"
	// warmUp is how many events Debezium moves before it is measured: a virtual
	// machine gets faster with what it has done.
	warmUp = 50_000
)

// debezium is Debezium's outbox event router on Kafka Connect standalone. Its
// virtual machine and its connector are started and warm before the table is
// filled; what is measured begins with the connector's resumption.
type debezium struct {
	libraries string
	connect   service.Process
	address   string
}

//go:embed debezium/pom.xml
var debeziumPOM []byte

// newDebezium has Maven fetch the jars, once.
func newDebezium(ctx context.Context, steps service.Steps) (*debezium, error) {
	dir, err := service.Cached(ctx, "debezium-"+debeziumVersion, func(ctx context.Context, dir string) error {
		return steps.Do("fetch Debezium "+debeziumVersion+" by Maven", time.Minute, func() error {
			pom := filepath.Join(dir, "pom.xml")
			if err := os.WriteFile(pom, debeziumPOM, 0o644); err != nil {
				return err
			}
			return service.Run(ctx, nil, dir, nil, "mvn", "-q", "-B", "-f", pom, "-Ddebezium.version="+debeziumVersion,
				"dependency:copy-dependencies", "-DoutputDirectory="+dir, "-DincludeScope=runtime")
		})
	})
	if err != nil {
		return nil, fmt.Errorf("fetch Debezium: %w", err)
	}
	return &debezium{libraries: dir}, nil
}

func (*debezium) name() string { return "Debezium " + debeziumVersion }

func (*debezium) serverSettings() map[string]string { return map[string]string{"wal_level": "logical"} }

func (*debezium) insert() string { return insertEvents }

func (d *debezium) prepare(ctx context.Context, s *stage) (int, error) {
	if err := s.createOutbox(ctx); err != nil {
		return 0, err
	}
	if err := d.launch(ctx, s); err != nil {
		return 0, err
	}
	if err := d.call(ctx, http.MethodPost, "/connectors", map[string]any{"name": connector, "config": d.config(s)}); err != nil {
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
	return warmUp, d.call(ctx, http.MethodPut, "/connectors/"+connector+"/stop", nil)
}

func (d *debezium) start(ctx context.Context, _ *stage) error {
	return d.call(ctx, http.MethodPut, "/connectors/"+connector+"/resume", nil)
}

func (*debezium) settled(context.Context, *stage) (float64, error) { return 0, nil }

func (d *debezium) process() service.Process { return d.connect }

func (d *debezium) stop(ctx context.Context) error {
	return d.connect.End(ctx, syscall.SIGTERM, 10*time.Second)
}

// launch starts Connect and waits for its REST interface.
func (d *debezium) launch(ctx context.Context, s *stage) error {
	port, err := service.FreePorts(1)
	if err != nil {
		return err
	}
	d.address = "http://" + net.JoinHostPort(service.Loopback, strconv.Itoa(port))
	worker := filepath.Join(s.dir, "worker.properties")
	if err := os.WriteFile(worker, []byte(d.worker(s)), 0o600); err != nil {
		return err
	}
	d.connect, err = background(s.dir, "connect", "java", "-Xms256m", "-Xmx1g", "-XX:-UsePerfData", "-Djava.io.tmpdir="+s.dir,
		"-cp", filepath.Join(d.libraries, "*"), "org.apache.kafka.connect.cli.ConnectStandalone", worker)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; {
		err := d.call(ctx, http.MethodGet, "/connectors", nil)
		if err == nil {
			return nil
		}
		if !d.connect.Alive() || time.Now().After(deadline) {
			return &service.Failure{Err: fmt.Errorf("start Connect: %w", err), Log: service.Tail(filepath.Join(s.dir, "connect.log"), 20)}
		}
		if err := service.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// worker is tuned as far as its documentation goes: large producer batches, and
// a linger of 1 ms.
func (d *debezium) worker(s *stage) string {
	return `bootstrap.servers=` + s.cluster.Addresses()[0] + `
listeners=` + d.address + `
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.converters.ByteArrayConverter
offset.storage.file.filename=` + filepath.Join(s.dir, "offsets") + `
offset.flush.interval.ms=1000
plugin.discovery=service_load
producer.linger.ms=1
producer.batch.size=262144
producer.buffer.memory=67108864
producer.compression.type=lz4
`
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
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		var active bool
		err := s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_replication_slots WHERE slot_name = $1 AND active)", connector).Scan(&active)
		if err != nil || active {
			return err
		}
		if err := service.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return &service.Failure{Err: errors.New("the connector follows no changes"), Log: service.Tail(filepath.Join(s.dir, "connect.log"), 20)}
}

func (d *debezium) call(ctx context.Context, method, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, d.address+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask Connect: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode < 300 {
		return nil
	}
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 2000)) // It only explains.
	return fmt.Errorf("ask Connect: %s %s: %s: %s", method, path, response.Status, answer)
}
