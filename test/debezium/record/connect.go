package main

import (
	"context"
	"net"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/test/connect"
	"github.com/relayfleet/relayfleet/test/debezium"
)

// router is the event router of one recording, as a connector.
type router struct {
	*connect.Connect
	server    *postgres.Server
	cluster   *kafka.Cluster
	recording debezium.Recording
}

// start has the converters that the documentation of the router names for string
// keys and JSON payloads as text.
func (c *router) start(ctx context.Context, dir string) error {
	libraries, err := connect.Libraries(ctx, service.Steps{Out: os.Stderr})
	if err != nil {
		return err
	}
	c.Connect, err = connect.Start(ctx, connect.Options{
		Libraries: libraries, Dir: dir, Bootstrap: c.cluster.Addresses()[0], Java: []string{"-Xmx512m"},
		Worker: `key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
offset.flush.interval.ms=500
`,
	})
	return err
}

// config leaves everything of the router that has a default at it.
func (c *router) config() map[string]string {
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
func (c *router) follow(ctx context.Context, conn *pgx.Conn) error {
	if err := c.Call(ctx, http.MethodPost, "/connectors", map[string]any{"name": "recording", "config": c.config()}); err != nil {
		return err
	}
	if err := c.Await(ctx, "the connector follows changes", func() (bool, error) { return c.slotActive(ctx, conn) }); err != nil {
		return err
	}
	if err := c.Call(ctx, http.MethodPut, "/connectors/recording/stop", nil); err != nil {
		return err
	}
	return c.Await(ctx, "the connector has stopped", func() (bool, error) {
		active, err := c.slotActive(ctx, conn)
		return !active, err
	})
}

func (c *router) slotActive(ctx context.Context, conn *pgx.Conn) (active bool, err error) {
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_replication_slots WHERE slot_name = $1 AND active)", c.recording.Name).Scan(&active)
	return active, err
}

func (c *router) resume(ctx context.Context) error {
	return c.Call(ctx, http.MethodPut, "/connectors/recording/resume", nil)
}
