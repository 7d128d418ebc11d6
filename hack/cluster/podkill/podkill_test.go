package podkill_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/cluster/podkill"
)

// fakePod runs container abc until it is killed; then it reports exitCode and
// runs container def.
func fakePod(exitCode int, killed *[]string) podkill.Killer {
	return podkill.Killer{
		Kubectl: func(context.Context, ...string) (string, error) {
			if len(*killed) == 0 {
				return `{"containerStatuses":[{"name":"relay","containerID":"containerd://abc","state":{"running":{}}}]}`, nil
			}
			return fmt.Sprintf(`{"containerStatuses":[{"name":"relay","containerID":"containerd://def","state":{"running":{}},
				"lastState":{"terminated":{"containerID":"containerd://abc","exitCode":%d}}}]}`, exitCode), nil
		},
		Ctr: func(_ context.Context, args ...string) (string, error) {
			*killed = append(*killed, args...)
			return "", nil
		},
	}
}

func TestKillProvesTheExitCode(t *testing.T) {
	var sent []string
	got, err := fakePod(137, &sent).Kill(t.Context(), "shop", "relay-0", "")
	require.NoError(t, err)
	require.Equal(t, podkill.Killed{Namespace: "shop", Pod: "relay-0", Container: "relay", ContainerID: "abc", ExitCode: 137}, got)
	require.Equal(t, []string{"tasks", "kill", "-s", "SIGKILL", "abc"}, sent)
}

func TestKillRefusesAnotherEnd(t *testing.T) {
	var sent []string
	_, err := fakePod(0, &sent).Kill(t.Context(), "shop", "relay-0", "relay")
	require.ErrorContains(t, err, "exited with 0 instead of 137")
}

func TestKillNamesAMissingContainer(t *testing.T) {
	var sent []string
	_, err := fakePod(137, &sent).Kill(t.Context(), "shop", "relay-0", "other")
	require.ErrorContains(t, err, "no container other is reported")
	require.Empty(t, sent)
}
