// Package e2e tests the whole on a real cluster, database and broker: the demo in
// small, and what a person does wrong and mends. It needs root.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	if err := stage.Down(ctx, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "end the cluster:", err)
		return 1
	}
	if left := leftovers(); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "the cluster was ended, and left:", strings.Join(left, ", "))
		return 1
	}
	return code
}

// leftovers is what an ended cluster must not leave: its network namespace, a
// mount of its pods, a running program of its own.
func leftovers() []string {
	var left []string
	if _, err := os.Stat("/run/netns/relayfleet"); err == nil {
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
	cache, err := service.CacheDir()
	if err != nil {
		return append(left, err.Error())
	}
	programs, _ := filepath.Glob("/proc/[0-9]*/exe") // The pattern is right.
	for _, link := range programs {
		// A process that is gone, or dead and not reaped, has no program.
		if program, err := os.Readlink(link); err == nil && strings.HasPrefix(program, filepath.Join(cache, "bin")) {
			left = append(left, "a process of "+filepath.Base(program))
		}
	}
	return left
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
