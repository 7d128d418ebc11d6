package main

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
)

// watermill is a program of a few lines in a module of its own, which moves
// messages with watermill-sql and watermill-kafka.
type watermill struct {
	binary string
	mover  service.Process
}

func newWatermill(ctx context.Context, dir string) (*watermill, error) {
	from, err := source(ctx, "watermill")
	if err != nil {
		return nil, err
	}
	w := &watermill{binary: filepath.Join(dir, "watermill")}
	if err := service.Run(ctx, nil, from, nil, "go", "build", "-o", w.binary, "."); err != nil {
		return nil, fmt.Errorf("build watermill's program: %w", err)
	}
	return w, nil
}

func (*watermill) name() string                      { return "watermill-sql 4.1" }
func (*watermill) serverSettings() map[string]string { return nil }

// insert is what watermill's own publisher does in the application's transaction.
func (*watermill) insert() string {
	return `INSERT INTO watermill_outbox (uuid, payload, metadata, transaction_id)
		SELECT e.id::text, e.payload, json_build_object('key', e.key), pg_current_xact_id()
		FROM unnest($1::uuid[], $2::text[], $3::bytea[]) AS e (id, key, payload)`
}

func (w *watermill) prepare(ctx context.Context, s *stage) (int, error) {
	err := service.Run(ctx, nil, s.dir, nil, w.binary, "init", s.server.URL(database, "postgres"))
	return 0, err
}

func (w *watermill) start(_ context.Context, s *stage) (err error) {
	w.mover, err = background(s.dir, "watermill", w.binary, "move", s.server.URL(database, "postgres"), s.cluster.Addresses()[0], s.topic)
	return err
}

func (*watermill) settled(context.Context, *stage) (float64, error) { return 0, nil }

func (w *watermill) process() service.Process { return w.mover }

func (w *watermill) stop(ctx context.Context) error {
	return w.mover.End(ctx, syscall.SIGTERM, 10*time.Second)
}
