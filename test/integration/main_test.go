package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/test/relays"
)

// What all tests share, from TestMain on.
var (
	binary string
	broker *kafka.Cluster
	// database is for one goroutine at a time: whoever changes it holds changing.
	database *postgres.Server
	changing sync.Mutex
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	// The tests spend their time waiting for leases, not for a processor.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx := context.Background()
	defer stop(ctx)
	if err := start(ctx); err != nil {
		service.Explain(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func start(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "relayfleet")
	if err != nil {
		return err
	}
	var starting sync.WaitGroup
	var buildErr, brokerErr, databaseErr error
	starting.Go(func() { binary, buildErr = relays.Build(ctx, dir) })
	starting.Go(func() { broker, brokerErr = kafka.Start(ctx, kafka.Options{DieWithCaller: true}) })
	starting.Go(func() {
		database, databaseErr = postgres.Start(ctx, postgres.Options{
			NotDurable: true, DieWithCaller: true, Settings: map[string]string{"max_connections": "300"},
		})
	})
	starting.Wait()
	return errors.Join(buildErr, brokerErr, databaseErr)
}

func stop(ctx context.Context) {
	_ = os.Remove(binary)
	if database != nil {
		_ = database.Remove(ctx)
	}
	if broker != nil {
		_ = broker.Remove(ctx)
	}
}
