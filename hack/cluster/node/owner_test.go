package node

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func self(t *testing.T) process {
	t.Helper()
	_, started, err := stat(os.Getpid())
	require.NoError(t, err)
	return process{Name: "etcd", PID: os.Getpid(), Started: started}
}

func TestASecondCheckoutIsRefusedWhileTheFirstRuns(t *testing.T) {
	running := &owner{Checkout: "/src/first", Processes: []process{self(t)}}
	require.NoError(t, running.refuseOther("/src/first"))
	require.ErrorContains(t, running.refuseOther("/src/second"), "one machine runs one cluster, and the checkout /src/first runs it")

	dead := &owner{Checkout: "/src/first", Processes: []process{{Name: "etcd", PID: os.Getpid(), Started: "1"}}}
	require.NoError(t, dead.refuseOther("/src/second"), "what a killed one left is nobody's")
	require.NoError(t, (*owner)(nil).refuseOther("/src/second"))
}

func TestWholeNeedsEveryProcessAndAFinishedStart(t *testing.T) {
	gone := process{Name: "kubelet", PID: os.Getpid(), Started: "1"}
	require.True(t, (&owner{Ready: true, Processes: []process{self(t)}}).whole())
	require.False(t, (&owner{Ready: true, Processes: []process{self(t), gone}}).whole())
	require.False(t, (&owner{Processes: []process{self(t)}}).whole())
}

func TestAnUnreapedProcessIsNotAlive(t *testing.T) {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Start())
	_, started, err := stat(cmd.Process.Pid)
	require.NoError(t, err)
	p := process{PID: cmd.Process.Pid, Started: started}
	require.Eventually(t, func() bool { return !p.alive() }, waitBound, pollEvery)
	require.NoError(t, cmd.Wait())
}

func TestEndInsists(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap "" TERM; echo ready; while :; do sleep 1; done`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 8))
	require.NoError(t, err)
	end(t.Context(), []int{cmd.Process.Pid}, pollEvery)
	require.Error(t, cmd.Wait(), "killed")
}
