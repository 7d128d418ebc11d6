package publish_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// silentServer names, in the environment, the server of a process that
// TestStoppedProcessBlamesNobody starts.
const silentServer = "RELAYFLEET_TEST_SILENT_SERVER"

// A process that was stopped beyond its deadline does not blame the broker for an
// answer that it did not hear; one that was awake does.
func TestStoppedProcessBlamesNobody(t *testing.T) {
	if server := os.Getenv(silentServer); server != "" {
		publishToSilence(t, server)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	for stopped, want := range map[time.Duration]string{0: publish.Unreachable, 4 * time.Second: "nobody"} {
		command := exec.Command(os.Args[0], "-test.run", "^TestStoppedProcessBlamesNobody$")
		command.Env = append(os.Environ(), silentServer+"="+listener.Addr().String())
		output, err := command.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		lines := bufio.NewScanner(output)
		require.Equal(t, "begins", nextWord(lines))
		if stopped > 0 {
			require.NoError(t, command.Process.Signal(syscall.SIGSTOP))
			time.Sleep(stopped) // Two seconds past the deadline.
			require.NoError(t, command.Process.Signal(syscall.SIGCONT))
		}
		require.Equal(t, want, nextWord(lines), "stopped for %s", stopped)
		require.NoError(t, command.Wait())
	}
}

// nextWord is what the next line of the other process says.
func nextWord(lines *bufio.Scanner) string {
	for lines.Scan() {
		if word, said := strings.CutPrefix(lines.Text(), "it "); said {
			return word
		}
	}
	return ""
}

func publishToSilence(t *testing.T, server string) {
	t.Helper()
	p := newProducer(t, []string{server}, func(c *publish.Config) { c.RequestTimeout = soon })
	deadline := event.NewDeadline(time.Now().Add(2 * time.Second))
	fmt.Println("it begins")
	outcomes, err := p.Publish(t.Context(), numbered(10), deadline)
	requireAll(t, event.Unsent, outcomes)
	blamed := "nobody"
	if problem, ok := errors.AsType[*publish.Problem](err); ok {
		blamed = problem.Code
	}
	fmt.Println("it " + blamed)
}
