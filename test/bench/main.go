package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/service"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		service.Explain(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, progress io.Writer) (err error) {
	o, err := readOptions()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "relayfleet-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{options: o, out: out, steps: service.Steps{Out: progress}, dir: dir, table: table{Machine: thisMachine()}}
	switch {
	case o.yours != nil:
		return b.yourTable(ctx)
	case o.benchmark == history:
		return b.history(ctx)
	case o.benchmark == heldXmin:
		return b.heldXmin(ctx)
	case o.benchmark == byKey:
		return b.order(ctx)
	case o.benchmark == retention:
		return b.retention(ctx)
	default:
		return b.throughput(ctx)
	}
}

// bench is one run.
type bench struct {
	options
	out   io.Writer
	steps service.Steps
	// dir takes files and goes with the run.
	dir string
	// cluster is the run's broker.
	cluster *kafka.Cluster
	table   table
}

// throughput measures everything that moves events, and what bounds it.
func (b *bench) throughput(ctx context.Context) (err error) {
	b.cluster, err = kafka.Start(ctx, kafka.Options{DieWithCaller: true})
	if err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	defer func() { err = errors.Join(err, b.cluster.Remove(context.WithoutCancel(ctx))) }()
	if err := b.warmBroker(ctx); err != nil {
		return err
	}
	relay, err := newOurs(ctx, b.dir)
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { return b.repeat(ctx, relay.name(), func() (result, error) { return b.run(ctx, relay) }) },
		func() error { return b.repeat(ctx, nullName, func() (result, error) { return b.withoutBroker(ctx) }) },
		func() error { return b.updates(ctx) },
		func() error { return b.producers(ctx) },
		func() error { return b.peersBeside(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return b.report()
}

// repeat measures something as often as is wanted, and keeps the medians.
func (b *bench) repeat(ctx context.Context, name string, measure func() (result, error)) error {
	if !b.wants(name) {
		return nil
	}
	var runs []result
	for i := range b.runs {
		err := b.steps.Do(fmt.Sprintf("measure %s, %d of %d", name, i+1, b.runs), 0, func() error {
			r, err := measure()
			runs = append(runs, r)
			return err
		})
		if err != nil {
			return fmt.Errorf("measure %s: %w", name, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	b.table.Results = append(b.table.Results, medianOf(runs))
	return nil
}

// clear ends a stage; its failure fails the measurement.
func (b *bench) clear(ctx context.Context, s *stage, err *error) {
	*err = errors.Join(*err, s.close(ctx))
}

func (b *bench) report() error {
	if err := b.table.print(b.out); err != nil {
		return err
	}
	if b.json == "" {
		return nil
	}
	return b.table.save(b.json)
}
