// Package e2e tests the whole on a real cluster, database and broker: the demo in
// small, and what a person does wrong and mends. It needs root.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/demo/play"
	"github.com/relayfleet/relayfleet/hack/demo/stage"
	"github.com/relayfleet/relayfleet/hack/service"
)

var onStage *stage.Stage

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run leaves a cluster that was up as it is, and ends one that it has started.
func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Minute)
	defer cancel()
	wasUp := stage.IsUp(ctx)
	var err error
	if onStage, err = stage.Up(ctx, os.Stderr); err != nil {
		service.Explain(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if wasUp {
		return code
	}
	namespace := inode(namespaceFile) // Its name goes with the cluster.
	if err := stage.Down(ctx, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "end the cluster:", err)
		return 1
	}
	if left := leftovers(namespace); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "the cluster was ended, and left:", strings.Join(left, ", "))
		return 1
	}
	return code
}

const namespaceFile = "/run/netns/relayfleet"

// leftovers is what an ended cluster must not leave: its network namespace, a
// mount of its pods, a running program of its own.
func leftovers(namespace uint64) []string {
	var left []string
	if _, err := os.Stat(namespaceFile); err == nil {
		left = append(left, "its network namespace")
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return append(left, err.Error())
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, "/kubelet/") || strings.Contains(line, "io.containerd") {
			left = append(left, "a mount: "+strings.TrimSpace(line))
		}
	}
	programs, err := runningPrograms(namespace)
	if err != nil {
		left = append(left, err.Error())
	}
	return append(left, programs...)
}

// runningPrograms are those of the cache's that run in the cluster's network
// namespace, where all of a cluster are started. Tests of other packages run some of
// the same programs outside it, and a test that was interrupted may have left one.
func runningPrograms(namespace uint64) ([]string, error) {
	cache, err := service.CacheDir()
	if err != nil {
		return nil, err
	}
	var running []string
	processes, _ := filepath.Glob("/proc/[0-9]*") // The pattern is right.
	for _, process := range processes {
		// A process that is gone, or dead and not reaped, has no program.
		program, err := os.Readlink(filepath.Join(process, "exe"))
		if err == nil && strings.HasPrefix(program, filepath.Join(cache, "bin")) && inode(filepath.Join(process, "ns/net")) == namespace {
			running = append(running, "a process of "+filepath.Base(program))
		}
	}
	return running, nil
}

// inode tells namespaces apart; 0: there is none.
func inode(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

func TestTheDemoInSmall(t *testing.T) {
	result, err := play.Run(t.Context(), onStage, play.Small, t.Output())
	require.NoError(t, err)
	require.Zero(t, result.Verdict.Lost)
	require.Empty(t, result.Verdict.Unexplained())
	require.Greater(t, result.Verdict.Committed, int64(play.Small.Burst))
	require.Greater(t, result.Grown, 1, "the fleet has grown")
	if onStage.CanKill() {
		require.Equal(t, 137, result.ExitCode, "a relay was killed by the container runtime")
	}
}
