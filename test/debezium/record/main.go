// Record runs Debezium's outbox event router on Kafka Connect over the rows of
// package debezium and writes what it publishes to its folder testdata.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/test/debezium"
)

// patience is more than any step takes on a busy machine.
const patience = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := record(ctx); err != nil {
		service.Explain(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // Nothing is left to be stopped.
	}
}

func record(ctx context.Context) error {
	folder, err := source(ctx)
	if err != nil {
		return err
	}
	server, err := postgres.Start(ctx, postgres.Options{
		DieWithCaller: true, NotDurable: true, Progress: os.Stderr, Settings: map[string]string{"wal_level": "logical"},
	})
	if err != nil {
		return err
	}
	defer server.Remove(context.WithoutCancel(ctx)) //nolint:errcheck // It ends with this process at the latest.
	conn, err := server.Connect(ctx, "postgres")
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, r := range debezium.Recordings {
		messages, err := recordOne(ctx, server, conn, r)
		if err != nil {
			return fmt.Errorf("record %s: %w", r.Name, err)
		}
		if err := r.Save(folder, messages); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: %d messages\n", r.Name, len(messages))
	}
	return nil
}

// recordOne has a broker of its own, so that all recordings use the same topics.
func recordOne(ctx context.Context, server *postgres.Server, conn *pgx.Conn, r debezium.Recording) ([]debezium.Message, error) {
	if err := r.CreateTable(ctx, conn); err != nil {
		return nil, err
	}
	cluster, err := kafka.Start(ctx, kafka.Options{DieWithCaller: true, Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	defer cluster.Remove(context.WithoutCancel(ctx)) //nolint:errcheck // It ends with this process at the latest.
	for _, topic := range debezium.Topics {
		if err := cluster.Admin().CreateTopic(ctx, admin.Topic{Name: topic, Partitions: debezium.Partitions, Replicas: 1}); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "debezium-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // Nothing of it matters any more.
	c := &router{server: server, cluster: cluster, recording: r}
	if err := c.start(ctx, dir); err != nil {
		return nil, err
	}
	defer c.Stop(context.WithoutCancel(ctx)) //nolint:errcheck // It ends with this process at the latest.
	return route(ctx, c, conn)
}

// route inserts the rows while the connector is stopped, so that the time of a
// message tells whether it is the row's or that of the routing.
func route(ctx context.Context, c *router, conn *pgx.Conn) ([]debezium.Message, error) {
	if err := c.follow(ctx, conn); err != nil {
		return nil, err
	}
	if err := c.recording.Insert(ctx, conn); err != nil {
		return nil, err
	}
	if err := service.Sleep(ctx, 2*time.Second); err != nil {
		return nil, err
	}
	resumed := time.Now()
	if err := c.resume(ctx); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	messages, err := debezium.Read(within, c.cluster.Addresses(), debezium.Count())
	if err != nil {
		return nil, &service.Failure{Err: fmt.Errorf("%d of %d messages came: %w", len(messages), debezium.Count(), err), Log: c.Log()}
	}
	for _, m := range messages {
		if m.At.Before(resumed) {
			return nil, fmt.Errorf("a message has the time %s, and the routing began at %s", m.At, resumed)
		}
	}
	return messages, nil
}

// source is the folder of package debezium.
func source(ctx context.Context) (string, error) {
	folder, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/relayfleet/relayfleet/test/debezium").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources: %w", err)
	}
	return strings.TrimSpace(string(folder)), nil
}
