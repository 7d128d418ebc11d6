package postgres

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/service"
)

// DefaultVersion is the major version that is used unless Options.Version says otherwise.
const DefaultVersion = 18

// Options say which server to start. The zero value is a server on loopback at a free port.
type Options struct {
	// Name is what the server is found by later; empty takes a name that no other has.
	Name string
	// Port is where it listens; 0 takes a free one, or 5432 in a network namespace.
	Port int
	// Netns is the network namespace to run in; empty means the caller's.
	Netns string
	// ListenAddresses are numeric; none means loopback or, in a namespace, where pods and host reach the node. The first
	// one is that of URL.
	ListenAddresses []string
	// Version is the major version: 0 means 18, from npm; others are taken from /usr/lib/postgresql, where Debian's
	// packages put them.
	Version int
	// WithoutTLS lets the server speak plain text only. Otherwise it speaks TLS only.
	WithoutTLS bool
	// Authority signs the server's certificate; nil makes one. Not recorded: a later start keeps the certificate.
	Authority *authority.Authority `json:"-"`
	// Hosts are further names and addresses for which the certificate is valid.
	Hosts []string
	// HBA are lines for the beginning of pg_hba.conf, before those that admit everybody with a password.
	HBA []string
	// Settings are lines for postgresql.conf; they win over the ones of this package.
	Settings map[string]string
	// Environment are further variables of the server, name=value.
	Environment []string
	// NotDurable switches fsync off: faster, and a crash of the machine (not of PostgreSQL) loses data.
	NotDurable bool
	// DieWithCaller ends the server when the calling process ends, however that ends; the next Start of anybody removes
	// the data that was left.
	DieWithCaller bool
	// Progress gets a line for each step; nil is silent.
	Progress io.Writer `json:"-"`
}

// defaulted fills in what the caller left open, except the port, which a stopped server of that name may know.
func (o Options) defaulted() Options {
	if o.Version == 0 {
		o.Version = DefaultVersion
	}
	if o.Name == "" {
		o.Name = service.TemporaryName()
	}
	if len(o.ListenAddresses) == 0 && o.Netns != "" {
		o.ListenAddresses = []string{service.NodeAddress, service.PodAddress}
	}
	if len(o.ListenAddresses) == 0 {
		o.ListenAddresses = []string{service.Loopback}
	}
	return o
}

// conflict says why a running server with the options o cannot stand for the wanted ones; empty when it can.
func (o Options) conflict(wanted Options) string {
	switch {
	case wanted.Port != 0 && wanted.Port != o.Port:
		return fmt.Sprintf("it listens on port %d, not %d", o.Port, wanted.Port)
	case wanted.Netns != o.Netns:
		return fmt.Sprintf("it runs in network namespace %q, not %q", o.Netns, wanted.Netns)
	case wanted.Version != o.Version:
		return fmt.Sprintf("it is version %d, not %d", o.Version, wanted.Version)
	case wanted.WithoutTLS != o.WithoutTLS:
		return "it differs in TLS"
	case !slices.Equal(wanted.ListenAddresses, o.ListenAddresses):
		return fmt.Sprintf("it listens on %s, not %s", strings.Join(o.ListenAddresses, ","), strings.Join(wanted.ListenAddresses, ","))
	case !maps.Equal(wanted.Settings, o.Settings) || !slices.Equal(wanted.HBA, o.HBA) ||
		!slices.Equal(wanted.Environment, o.Environment) || wanted.NotDurable != o.NotDurable:
		return "it has other settings"
	}
	return ""
}
