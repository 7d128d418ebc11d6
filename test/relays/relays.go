// Package relays runs the real binary as relay processes, for the tests that
// stop, freeze and kill them.
package relays

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/relay/report"
	"github.com/relayfleet/relayfleet/relay/settings"
)

// Build builds the binary into dir and returns its path; flags are further ones
// of go build.
func Build(ctx context.Context, dir string, flags ...string) (string, error) {
	binary := filepath.Join(dir, "relayfleet")
	args := slices.Concat([]string{"build", "-o", binary}, flags, []string{"github.com/relayfleet/relayfleet"})
	output, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the binary: %w: %s", err, output)
	}
	return binary, nil
}

// Options say which relay to start. All but Settings and Grace are required.
type Options struct {
	// Binary is what Build returned.
	Binary string
	// Dir takes the relay's settings file and its output.
	Dir string
	// Name tells it from other relays in Dir; it is POD_NAME and POD_UID too.
	Name     string
	Settings settings.Settings
	// Grace is how long sends may go on after SIGTERM; unset: the relay's default.
	Grace time.Duration
}

// Relay is a relay process, running or not.
type Relay struct {
	// Name is Options.Name.
	Name    string
	address string
	output  string
	process *os.Process

	ended chan struct{}
	// Both are written before ended is closed, and read after.
	exitCode int
	used     time.Duration
}

// Start starts a relay and returns at once. It is killed when the calling
// process ends, however that ends.
func Start(o Options) (*Relay, error) {
	data, err := settings.Render(o.Settings)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(o.Dir, o.Name+".yaml")
	if err := os.WriteFile(config, data, 0o600); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	r := &Relay{
		Name: o.Name, address: net.JoinHostPort(service.Loopback, strconv.Itoa(port)),
		output: filepath.Join(o.Dir, o.Name+".log"), ended: make(chan struct{}),
	}
	args := []string{"relay", "--config", config, "--listen", r.address, "--metrics-listen="}
	if o.Grace > 0 {
		args = append(args, "--grace", o.Grace.String())
	}
	cmd := exec.Command(o.Binary, args...)
	cmd.Env = []string{"POD_NAME=" + o.Name, "POD_UID=uid-of-" + o.Name}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return r, r.start(cmd)
}

func (r *Relay) start(cmd *exec.Cmd) error {
	output, err := os.Create(r.output)
	if err != nil {
		return err
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	started := make(chan error)
	go func() {
		// The kernel sends the death signal when the thread that started the
		// process ends, so that thread has to stay.
		runtime.LockOSThread()
		err := cmd.Start()
		r.process = cmd.Process
		started <- err
		if err == nil {
			_ = cmd.Wait() // The exit code says it all.
			r.exitCode = exitCode(cmd.ProcessState)
			r.used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			close(r.ended)
		}
	}()
	return <-started
}

// exitCode is 128 plus the signal's number for a process that a signal ended,
// as a shell has it.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// ports were given out: two relays that start at the same time must not get the
// same one.
var ports struct {
	sync.Mutex
	taken map[int]bool
}

func freePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	if ports.taken == nil {
		ports.taken = map[int]bool{}
	}
	for {
		port, err := service.FreePorts(1)
		if err != nil || !ports.taken[port] {
			ports.taken[port] = true
			return port, err
		}
	}
}

// PID is the id of the process.
func (r *Relay) PID() int { return r.process.Pid }

// Signal sends a signal; a relay that has ended is no error.
func (r *Relay) Signal(signal syscall.Signal) error {
	if err := r.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal relay %s: %w", r.Name, err)
	}
	return nil
}

// Freeze stops the process as it stands, by SIGSTOP, and returns when it does.
func (r *Relay) Freeze(ctx context.Context) error {
	if err := r.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		frozen, err := r.isFrozen()
		if frozen || err != nil {
			return err
		}
		if err := service.Sleep(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("freeze relay %s: %w", r.Name, err)
		}
	}
}

func (r *Relay) isFrozen() (bool, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.PID()))
	if err != nil {
		return false, err
	}
	var pid int
	var name, state string
	if _, err := fmt.Sscanf(string(stat), "%d %s %s", &pid, &name, &state); err != nil {
		return false, fmt.Errorf("read the state of relay %s: %w", r.Name, err)
	}
	return state == "T", nil
}

// Thaw lets a frozen process go on.
func (r *Relay) Thaw() error { return r.Signal(syscall.SIGCONT) }

// Running tells whether the process has not ended.
func (r *Relay) Running() bool {
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// Wait waits for the process to end and returns its exit code: 128 plus the
// number of the signal, if one has ended it.
func (r *Relay) Wait(ctx context.Context) (int, error) {
	select {
	case <-r.ended:
		return r.exitCode, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for relay %s to end: %w", r.Name, ctx.Err())
	}
}

// ProcessorTime is how long a process that has ended kept processors busy; to be
// asked after Wait.
func (r *Relay) ProcessorTime() time.Duration { return r.used }

// MaxResident is the most memory, in bytes, that the running process has had.
func (r *Relay) MaxResident() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID()))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kibibytes int64
	if _, err := fmt.Sscan(rest, &kibibytes); err != nil {
		return 0, fmt.Errorf("read the memory of relay %s: %w", r.Name, err)
	}
	return kibibytes << 10, nil
}

// Output is everything that the process has printed.
func (r *Relay) Output() (string, error) {
	text, err := os.ReadFile(r.output)
	return string(text), err
}

// answer bounds a request to a relay: a frozen one gives no answer.
const answer = 2 * time.Second

// Report asks the relay how it is.
func (r *Relay) Report(ctx context.Context) (report.Report, error) {
	_, body, err := r.get(ctx, report.Path)
	if err != nil {
		return report.Report{}, err
	}
	return report.Decode(body)
}

// Ready asks the relay's readiness probe.
func (r *Relay) Ready(ctx context.Context) (bool, error) {
	status, _, err := r.get(ctx, "/readyz")
	return status == http.StatusOK, err
}

func (r *Relay) get(ctx context.Context, path string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.address+path, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("ask relay %s: %w", r.Name, err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, report.MaxBytes+1))
	return response.StatusCode, body, err
}
