package main

import (
	"bytes"
	"context"
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

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/test/debezium"
)

const version = "3.6.1.Final"

// connect is Kafka Connect, standalone, with one connector.
type connect struct {
	dir, pom  string
	server    *postgres.Server
	cluster   *kafka.Cluster
	recording debezium.Recording

	process service.Process
	address string
}

func (c *connect) log() string { return filepath.Join(c.dir, "connect.log") }

// libraries are fetched once, by Maven; the benchmark uses the same.
func (c *connect) libraries(ctx context.Context) (string, error) {
	return service.Cached(ctx, "debezium-"+version, func(ctx context.Context, dir string) error {
		return service.Run(ctx, nil, dir, nil, "mvn", "-q", "-B", "-f", c.pom, "-Ddebezium.version="+version,
			"dependency:copy-dependencies", "-DoutputDirectory="+dir, "-DincludeScope=runtime")
	})
}

func (c *connect) start(ctx context.Context) error {
	libraries, err := c.libraries(ctx)
	if err != nil {
		return fmt.Errorf("fetch Debezium: %w", err)
	}
	port, err := service.FreePorts(1)
	if err != nil {
		return err
	}
	c.address = "http://" + net.JoinHostPort(service.Loopback, strconv.Itoa(port))
	worker := filepath.Join(c.dir, "worker.properties")
	if err := os.WriteFile(worker, []byte(c.worker()), 0o600); err != nil {
		return err
	}
	c.process, err = service.Start(service.Command{
		Args: []string{
			"java", "-Xmx512m", "-XX:-UsePerfData", "-Djava.io.tmpdir=" + c.dir,
			"-cp", filepath.Join(libraries, "*"), "org.apache.kafka.connect.cli.ConnectStandalone", worker,
		},
		Dir: c.dir, LogFile: c.log(), DeathSignal: syscall.SIGKILL,
	})
	if err != nil {
		return err
	}
	return c.await(ctx, "Connect answers", func() (bool, error) {
		return c.call(ctx, http.MethodGet, "/connectors", nil) == nil, nil
	})
}

func (c *connect) stop(ctx context.Context) { _ = c.process.End(ctx, syscall.SIGTERM, 10*time.Second) }

// worker has the converters that the documentation of the router names for string
// keys and JSON payloads as text.
func (c *connect) worker() string {
	return `bootstrap.servers=` + c.cluster.Addresses()[0] + `
listeners=` + c.address + `
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
offset.storage.file.filename=` + filepath.Join(c.dir, "offsets") + `
offset.flush.interval.ms=500
plugin.discovery=service_load
`
}

// config leaves everything of the router that has a default at it.
func (c *connect) config() map[string]string {
	host, port, _ := net.SplitHostPort(c.server.Address())
	config := map[string]string{
		"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "tasks.max": "1",
		"database.hostname": host, "database.port": port, "database.sslmode": "require",
		"database.user": "postgres", "database.password": c.server.Password("postgres"), "database.dbname": "postgres",
		"topic.prefix": "recording", "table.include.list": "public." + c.recording.Name, "plugin.name": "pgoutput",
		"publication.name": c.recording.Name, "publication.autocreate.mode": "filtered",
		"slot.name": c.recording.Name, "snapshot.mode": "no_data",
		"transforms": "outbox", "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
	}
	if c.recording.Placement != "" {
		config["transforms.outbox.table.fields.additional.placement"] = c.recording.Placement
	}
	if c.recording.Bare {
		config["extended.headers.enabled"] = "false"
	}
	return config
}

// follow makes the connector, and stops it as soon as it would see what is
// committed from then on.
func (c *connect) follow(ctx context.Context, conn *pgx.Conn) error {
	if err := c.call(ctx, http.MethodPost, "/connectors", map[string]any{"name": "recording", "config": c.config()}); err != nil {
		return err
	}
	if err := c.await(ctx, "the connector follows changes", func() (bool, error) { return c.slotActive(ctx, conn) }); err != nil {
		return err
	}
	if err := c.call(ctx, http.MethodPut, "/connectors/recording/stop", nil); err != nil {
		return err
	}
	return c.await(ctx, "the connector has stopped", func() (bool, error) {
		active, err := c.slotActive(ctx, conn)
		return !active, err
	})
}

func (c *connect) slotActive(ctx context.Context, conn *pgx.Conn) (active bool, err error) {
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_replication_slots WHERE slot_name = $1 AND active)", c.recording.Name).Scan(&active)
	return active, err
}

func (c *connect) resume(ctx context.Context) error {
	return c.call(ctx, http.MethodPut, "/connectors/recording/resume", nil)
}

func (c *connect) await(ctx context.Context, what string, done func() (bool, error)) error {
	for deadline := time.Now().Add(patience); c.process.Alive() && time.Now().Before(deadline); {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if err := service.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return &service.Failure{Err: errors.New("wait until " + what), Log: service.Tail(c.log(), 30)}
}

func (c *connect) call(ctx context.Context, method, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.address+path, bytes.NewReader(text))
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
