package kafka

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/relayfleet/relayfleet/hack/service"
)

// DefaultVersion is the version that is used unless Options.Version says otherwise.
const DefaultVersion = "4.3.1"

// defaultPort is the first broker's in a namespace, where nobody else listens.
const defaultPort = 9092

// Options say which cluster to start. The zero value is one broker on loopback at a free port.
type Options struct {
	// Name is what the cluster is found by later; empty takes a name that no other has.
	Name string
	// Port is the first broker's; each takes three in a row, and one for each of Listeners. 0 takes free ones, or 9092 and following in a namespace.
	Port int
	// Netns is the network namespace to run in; empty means the caller's.
	Netns string
	// Count is how many brokers there are; 0 means one.
	Count int
	// Version is Kafka's; empty means DefaultVersion.
	Version string
	// Settings are lines for server.properties; they win over the ones of this package.
	Settings map[string]string
	// Listeners are added to the one without TLS and login.
	Listeners []Listener
	// DieWithCaller ends the brokers when the calling process ends, however that ends; the next Start of anybody removes
	// the data that was left.
	DieWithCaller bool
	// Progress gets a line for each step; nil is silent.
	Progress io.Writer `json:"-"`
}

func (o Options) defaulted() Options {
	if o.Name == "" {
		o.Name = service.TemporaryName()
	}
	if o.Version == "" {
		o.Version = DefaultVersion
	}
	if o.Count == 0 {
		o.Count = 1
	}
	return o
}

// conflict says why a running cluster with the options o cannot stand for the wanted ones; empty when it can.
func (o Options) conflict(wanted Options) string {
	switch {
	case wanted.Port != 0 && wanted.Port != o.Port:
		return fmt.Sprintf("its first port is %d, not %d", o.Port, wanted.Port)
	case wanted.Netns != o.Netns:
		return fmt.Sprintf("it runs in network namespace %q, not %q", o.Netns, wanted.Netns)
	case wanted.Count != o.Count:
		return fmt.Sprintf("it has %d brokers, not %d", o.Count, wanted.Count)
	case wanted.Version != o.Version:
		return fmt.Sprintf("it is version %s, not %s", o.Version, wanted.Version)
	case !maps.Equal(wanted.Settings, o.Settings):
		return "it has other settings"
	case !slices.EqualFunc(wanted.Listeners, o.Listeners, Listener.equals):
		return "it has other listeners"
	}
	return ""
}
