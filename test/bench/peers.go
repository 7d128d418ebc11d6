package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/relayfleet/relayfleet/hack/service"
)

// peersBeside measures the peers, or names them as left out.
func (b *bench) peersBeside(ctx context.Context) error {
	if !b.peers {
		b.table.Notes = append(b.table.Notes, "Left out: Debezium and watermill (BENCH_PEERS=1 installs and measures them).")
		return nil
	}
	debezium, err := newDebezium(ctx, b.steps)
	if err != nil {
		return err
	}
	watermill, err := newWatermill(ctx, b.dir)
	if err != nil {
		return err
	}
	for _, peer := range []contender{debezium, watermill} {
		if err := b.repeat(ctx, peer.name(), func() (result, error) { return b.run(ctx, peer) }); err != nil {
			return err
		}
	}
	return nil
}

// background starts a program that ends with this one at the latest.
func background(dir, name string, args ...string) (service.Process, error) {
	return service.Start(service.Command{
		Args: args, Dir: dir, LogFile: filepath.Join(dir, name+".log"), DeathSignal: syscall.SIGKILL,
	})
}

// source is the folder of one of this package's parts.
func source(ctx context.Context, part string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/relayfleet/relayfleet/test/bench").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of the benchmark: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(root)), part), nil
}
