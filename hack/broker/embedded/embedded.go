// Package embedded stands in for Kafka where Java is missing: a broker in memory, in Go, run as a process of its own. It
// speaks the protocol, keeps idempotence and forgets everything when it ends; it has no replication, and it is no
// measure of Kafka's speed.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/service"
)

// Notice is what everybody who uses it is told first.
const Notice = "embedded broker: no replication, nothing on disk, and no measure of Kafka's speed"

const (
	kind     = "embedded-broker"
	patience = time.Minute
)

// Options say which broker to start.
type Options struct {
	// Name is what it is found by later; empty takes a name that no other has.
	Name string
	// Port is where it listens; 0 takes a free one, or 9092 in a namespace.
	Port int
	// Netns is the network namespace to run in; empty means the caller's.
	Netns string
	// Progress gets a line for each step; nil is silent.
	Progress io.Writer `json:"-"`
}

// Broker is an embedded broker, running or not.
type Broker struct {
	instance service.Instance
	state    state
}

type state struct {
	Options Options         `json:"options"`
	Process service.Process `json:"process"`
}

// Serve is the broker itself. It returns when ctx ends.
func Serve(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("port %q: %w", port, err)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(number),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			return net.Listen(network, net.JoinHostPort(host, port))
		}))
	if err != nil {
		return err
	}
	defer cluster.Close()
	<-ctx.Done()
	return nil
}

// Start starts the broker and returns when it can be produced to; one of that name that runs and answers is kept.
func Start(ctx context.Context, options Options) (*Broker, error) {
	options = options.defaulted()
	b := &Broker{}
	var err error
	if b.instance, err = service.OpenInstance(kind, options.Name); err != nil {
		return nil, err
	}
	unlock, err := b.instance.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if b.instance.LoadState(&b.state) == nil && b.Running() {
		return b, b.waitUntilUsable(ctx)
	}
	if options.Port == 0 {
		if options.Port, err = service.FreePorts(1); err != nil {
			return nil, err
		}
	}
	b.state.Options = options
	err = service.Steps{Out: options.Progress}.Do("start the "+Notice, 10*time.Second, func() error { return b.launch(ctx) })
	if err != nil {
		return nil, &service.Failure{Err: err, Log: service.Tail(b.LogFile(), 20)}
	}
	return b, nil
}

func (o Options) defaulted() Options {
	if o.Name == "" {
		o.Name = service.TemporaryName()
	}
	if o.Port == 0 && o.Netns != "" {
		o.Port = 9092
	}
	return o
}

// launch compiles the command that serves, so that the process outlives whoever started it.
func (b *Broker) launch(ctx context.Context) (err error) {
	program := b.instance.Path("broker")
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..", "..")
	if err := service.Run(ctx, nil, root, nil, "go", "build", "-o", program, "./hack/broker"); err != nil {
		return fmt.Errorf("compile the embedded broker: %w", err)
	}
	b.state.Process, err = service.Start(service.Command{
		Args: []string{program, "serve", "--address", b.Addresses()[0]}, Dir: b.instance.Dir, Env: os.Environ(),
		LogFile: b.LogFile(), Netns: b.state.Options.Netns,
	})
	if err != nil {
		return err
	}
	if err := b.instance.SaveState(b.state); err != nil {
		return err
	}
	return b.waitUntilUsable(ctx)
}

func (b *Broker) waitUntilUsable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return b.Admin().WaitUntilUsable(ctx, 1, func() error {
		if !b.Running() {
			return errors.New("it ended")
		}
		return nil
	})
}

// Find returns the broker of that name, running or not; service.ErrNotFound when there is none.
func Find(name string) (*Broker, error) {
	instance, err := service.OpenInstance(kind, name)
	if err != nil {
		return nil, err
	}
	b := &Broker{instance: instance}
	return b, instance.LoadState(&b.state)
}

// Remove ends the broker and deletes all that it had.
func (b *Broker) Remove(ctx context.Context) error {
	if err := b.state.Process.End(ctx, syscall.SIGTERM, 5*time.Second); err != nil {
		return err
	}
	return b.instance.Remove()
}

// Addresses are the broker's, for the host and, in the node's namespace, for pods too.
func (b *Broker) Addresses() []string {
	return []string{net.JoinHostPort(service.HostAddress(b.state.Options.Netns), strconv.Itoa(b.state.Options.Port))}
}

// Admin makes, removes and describes topics.
func (b *Broker) Admin() admin.Cluster {
	return admin.Cluster{Addresses: b.Addresses(), Netns: b.state.Options.Netns}
}

// Running tells whether the process is there.
func (b *Broker) Running() bool { return b.state.Process.Alive() }

// LogFile is where it writes.
func (b *Broker) LogFile() string { return b.instance.Path("broker.log") }
