// Package kafka starts and ends real Kafka brokers for development and tests: KRaft, without ZooKeeper, from Maven
// artifacts. Each broker is a controller too.
package kafka

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/service"
)

const (
	kind = "broker"
	// patience is how long a start or a stop may take before it counts as failed.
	patience = 2 * time.Minute
)

// Cluster is a Kafka cluster that this package started, running or not. It is for one goroutine at a time.
type Cluster struct {
	instance service.Instance
	state    state
	steps    service.Steps
}

// state is what a later command needs to find and use the cluster again.
type state struct {
	Options   Options `json:"options"`
	Libraries string  `json:"libraries"`
	// Brokers are the processes, by number from 0.
	Brokers []service.Process `json:"brokers"`
}

// Start starts the cluster and returns when it can be produced to. A cluster of that name that runs and answers is kept
// if it fits the options; one that was stopped or killed resumes with its data.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	options = options.defaulted()
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	c := &Cluster{steps: service.Steps{Out: options.Progress}}
	jars, err := libraries(ctx, options.Version, c.steps)
	if err != nil {
		return nil, err
	}
	if err := service.AllowMissingAddresses(options.Netns); err != nil {
		return nil, err
	}
	if err := removeAbandoned(ctx); err != nil {
		return nil, fmt.Errorf("clear what an earlier run left: %w", err)
	}
	if c.instance, err = service.OpenInstance(kind, options.Name); err != nil {
		return nil, err
	}
	unlock, err := c.instance.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	kept, err := c.prepare(ctx, options, jars)
	if err != nil || kept {
		return c, err
	}
	if err := c.launch(ctx); err != nil {
		return nil, c.explain(ctx, err)
	}
	return c, nil
}

// Find returns the cluster of that name, running or not; service.ErrNotFound when there is none.
func Find(name string) (*Cluster, error) {
	instance, err := service.OpenInstance(kind, name)
	if err != nil {
		return nil, err
	}
	c := &Cluster{instance: instance}
	return c, instance.LoadState(&c.state)
}

// prepare leaves data folders and configuration ready for a launch, or finds that the cluster can be kept as it runs.
func (c *Cluster) prepare(ctx context.Context, options Options, jars string) (kept bool, err error) {
	err = c.instance.LoadState(&c.state)
	switch {
	case errors.Is(err, service.ErrNotFound):
		return false, c.create(ctx, options, jars)
	case err != nil:
		return false, err
	}
	if why := c.state.Options.conflict(options); why != "" {
		return false, fmt.Errorf("broker %q is there already and %s: stop it first", options.Name, why)
	}
	if c.running() == c.state.Options.Count && c.usableWithin(ctx, 10*time.Second) {
		return true, nil
	}
	return false, c.Stop(ctx)
}

func (c *Cluster) usableWithin(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.waitUntilUsable(ctx) == nil
}

// create makes and formats new data folders. A folder without a recorded state is what a start left that was killed.
func (c *Cluster) create(ctx context.Context, options Options, jars string) (err error) {
	if err := c.instance.Clear(); err != nil {
		return err
	}
	if options.DieWithCaller {
		if err := c.instance.Own(); err != nil {
			return err
		}
	}
	if options.Port == 0 && options.Netns != "" {
		options.Port = defaultPort
	}
	if options.Port == 0 {
		if options.Port, err = service.FreePorts(options.portsPerBroker() * options.Count); err != nil {
			return err
		}
	}
	c.state = state{Options: options, Libraries: jars, Brokers: make([]service.Process, options.Count)}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // It never fails.
	id[0] &= 0x7f        // The first character is then no hyphen, which a command line would take for an option.
	usual := time.Duration(options.Count) * 2 * time.Second
	return c.steps.Do("create the brokers' data folders", usual, func() error {
		if err := c.writeListenerFiles(); err != nil {
			return err
		}
		for broker := range options.Count {
			if err := c.format(ctx, broker, base64.RawURLEncoding.EncodeToString(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Cluster) format(ctx context.Context, broker int, id string) error {
	if err := os.MkdirAll(c.temporaryDir(), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(c.configFile(broker), []byte(c.properties(broker)), 0o600); err != nil {
		return err
	}
	return service.Run(ctx, nil, c.instance.Dir, c.environment(),
		java(c.state.Libraries, c.temporaryDir(), "256m", "kafka.tools.StorageTool", "format", "-t", id, "-c", c.configFile(broker))...)
}

// environment keeps Kafka's logging quiet without a file of its own.
func (c *Cluster) environment() []string {
	return append(os.Environ(), "JAVA_TOOL_OPTIONS=-Dlog4j2.level=WARN"+c.allowKeys())
}

func (c *Cluster) launch(ctx context.Context) error {
	title := fmt.Sprintf("start Kafka %s, %d broker(s) from port %d", c.state.Options.Version, c.state.Options.Count, c.state.Options.Port)
	return c.steps.Do(title, 6*time.Second, func() error {
		for broker := range c.state.Options.Count {
			if err := c.run(broker); err != nil {
				return err
			}
		}
		return c.waitUntilUsable(ctx)
	})
}

// run starts one broker and does not wait for it.
func (c *Cluster) run(broker int) (err error) {
	if err := os.MkdirAll(c.temporaryDir(), 0o755); err != nil {
		return err
	}
	command := service.Command{
		Args: java(c.state.Libraries, c.temporaryDir(), "1g", "kafka.Kafka", c.configFile(broker)),
		Dir:  c.instance.Dir, Env: c.environment(), LogFile: c.LogFile(broker), Netns: c.state.Options.Netns,
	}
	if c.state.Options.DieWithCaller {
		command.DeathSignal = syscall.SIGKILL
	}
	if c.state.Brokers[broker], err = service.Start(command); err != nil {
		return err
	}
	return c.instance.SaveState(c.state)
}

func (c *Cluster) waitUntilUsable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.Admin().WaitUntilUsable(ctx, c.state.Options.Count, func() error {
		for broker, process := range c.state.Brokers {
			if !process.Alive() {
				return fmt.Errorf("broker %d ended", broker)
			}
		}
		return nil
	})
}

// explain ends a launch that failed for the reason err and says what a person can look at.
func (c *Cluster) explain(ctx context.Context, err error) error {
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	failure := &service.Failure{Err: err, Log: service.Tail(c.LogFile(0), 20)}
	if c.state.Options.DieWithCaller {
		return errors.Join(failure, c.stopAll(cleanup, syscall.SIGKILL), c.instance.Remove())
	}
	failure.WayOn = "The data is kept in " + c.instance.Dir + ". Mend the cause and start again, or stop it to remove the data."
	return errors.Join(failure, c.stopAll(cleanup, syscall.SIGKILL))
}

// Stop ends all brokers the clean way and keeps their data.
func (c *Cluster) Stop(ctx context.Context) error { return c.stopAll(ctx, syscall.SIGTERM) }

// stopAll signals all brokers before it waits: the last controllers cannot leave one after the other.
func (c *Cluster) stopAll(ctx context.Context, signal syscall.Signal) error {
	for _, process := range c.state.Brokers {
		if err := process.Signal(signal); err != nil {
			return err
		}
	}
	for broker := range c.state.Brokers {
		if err := c.end(ctx, broker, signal); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) end(ctx context.Context, broker int, signal syscall.Signal) error {
	return c.state.Brokers[broker].End(ctx, signal, 30*time.Second)
}

// StopBroker ends one broker (numbers begin with 0) the clean way: it hands its partitions over first.
func (c *Cluster) StopBroker(ctx context.Context, broker int) error {
	return c.end(ctx, broker, syscall.SIGTERM)
}

// KillBroker ends one broker by SIGKILL.
func (c *Cluster) KillBroker(ctx context.Context, broker int) error {
	return c.end(ctx, broker, syscall.SIGKILL)
}

// PauseBroker stops one broker where it is (SIGSTOP): its connections stay and do not answer. ResumeBroker lets it go on.
func (c *Cluster) PauseBroker(broker int) error {
	return c.state.Brokers[broker].Signal(syscall.SIGSTOP)
}

// ResumeBroker lets a paused broker go on.
func (c *Cluster) ResumeBroker(broker int) error {
	return c.state.Brokers[broker].Signal(syscall.SIGCONT)
}

// StartBroker starts one broker that was stopped or killed, with the data and at the port that it had. It waits until
// the whole cluster can be produced to, if all others run.
func (c *Cluster) StartBroker(ctx context.Context, broker int) error {
	if c.state.Brokers[broker].Alive() {
		return nil
	}
	if err := c.run(broker); err != nil {
		return err
	}
	if c.running() < c.state.Options.Count {
		return nil
	}
	return c.waitUntilUsable(ctx)
}

// Resume starts all brokers of a cluster that was stopped.
func (c *Cluster) Resume(ctx context.Context) error { return c.launch(ctx) }

// Remove ends the brokers and deletes all that they had.
func (c *Cluster) Remove(ctx context.Context) error {
	unlock, err := c.instance.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.stopAll(ctx, syscall.SIGKILL); err != nil {
		return err
	}
	return c.instance.Remove()
}

// removeAbandoned ends and removes the clusters of callers that ended without doing it.
func removeAbandoned(ctx context.Context) error {
	instances, err := service.Abandoned(kind)
	if err != nil {
		return err
	}
	for _, instance := range instances {
		c := &Cluster{instance: instance}
		if err := instance.LoadState(&c.state); err != nil && !errors.Is(err, service.ErrNotFound) {
			return err
		}
		if err := c.Remove(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Addresses are the brokers' for the host.
func (c *Cluster) Addresses() []string { return c.each(c.hostAddress) }

// PodAddresses are the brokers' for pods, when they run in the node's network namespace.
func (c *Cluster) PodAddresses() []string { return c.each(c.podAddress) }

// Admin makes, removes and describes topics.
func (c *Cluster) Admin() admin.Cluster {
	return admin.Cluster{Addresses: c.Addresses(), Netns: c.state.Options.Netns}
}

// Running tells whether all brokers' processes are there.
func (c *Cluster) Running() bool { return c.running() == c.state.Options.Count }

func (c *Cluster) running() int {
	count := 0
	for _, process := range c.state.Brokers {
		if process.Alive() {
			count++
		}
	}
	return count
}

// Process is the process of a broker, running or not.
func (c *Cluster) Process(broker int) service.Process { return c.state.Brokers[broker] }

// Options are those that the cluster runs with, defaults filled in.
func (c *Cluster) Options() Options { return c.state.Options }

// Dir holds all that the cluster has on disk.
func (c *Cluster) Dir() string { return c.instance.Dir }

// LogFile is where a broker writes.
func (c *Cluster) LogFile(broker int) string {
	return c.instance.Path("server-" + strconv.Itoa(broker) + ".log")
}

func (c *Cluster) configFile(broker int) string {
	return c.instance.Path("server-" + strconv.Itoa(broker) + ".properties")
}

func (c *Cluster) temporaryDir() string { return c.instance.Path("tmp") }
