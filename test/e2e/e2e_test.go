// Package e2e tests the whole on a real cluster, database and broker: the demo in
// small, and what a person does wrong and mends. It needs root.
package e2e

import (
	"context"
	"fmt"
	"os"
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
	return code
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
