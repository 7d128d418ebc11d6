package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// The addresses of the cluster's node, whose network namespace hack/cluster makes.
const (
	// PodAddress is where a pod reaches a service that runs in the node's namespace: the pods' gateway.
	PodAddress = "10.244.0.1"
	// NodeAddress is where the host reaches it: the node's end of the link.
	NodeAddress = "10.250.0.2"
	// Loopback is where a service without a namespace listens.
	Loopback = "127.0.0.1"
)

// Networks are those from which a service is reached: loopback, the pods, and the link between host and node.
var Networks = []string{"127.0.0.1/32", "10.244.0.0/24", "10.250.0.0/30"}

// HostAddress is where the host reaches a service in netns, or on loopback when netns is empty.
func HostAddress(netns string) string {
	if netns == "" {
		return Loopback
	}
	return NodeAddress
}

// enter moves the calling thread, which must be locked and is lost for anything else, into a network namespace.
func enter(netns string) error {
	if netns == "" {
		return nil
	}
	namespace, err := os.Open(filepath.Join("/run/netns", netns))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("network namespace %q does not exist: start the cluster first (make cluster)", netns)
	}
	if err != nil {
		return err
	}
	defer namespace.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %q (this needs root): %w", netns, err)
	}
	return nil
}

// inNamespace runs f on a thread of its own in the namespace.
func inNamespace(netns string, f func() error) error {
	if netns == "" {
		return f()
	}
	result := make(chan error)
	onSpareThread(func() {
		err := enter(netns)
		if err == nil {
			err = f()
		}
		result <- err
	})
	return <-result
}

// Dialer connects to numeric addresses from inside a network namespace. A socket belongs for ever to the namespace that
// it was made in, so a caller outside reaches what only listens inside.
type Dialer struct {
	// Netns is the namespace; empty means the caller's.
	Netns string
}

// DialContext is net.Dialer's, from inside the namespace.
func (d Dialer) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = inNamespace(d.Netns, func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Dial is DialContext without a limit of time.
func (d Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// AllowMissingAddresses lets a process in the namespace listen on an address before it exists there: the pods' gateway
// may appear only with the first pod. It also finds out whether the namespace exists and can be entered.
func AllowMissingAddresses(netns string) error {
	if netns == "" {
		return nil
	}
	return inNamespace(netns, func() error {
		// Where this cannot be written the address may still be there; if not, the service's own error names it.
		_ = os.WriteFile("/proc/sys/net/ipv4/ip_nonlocal_bind", []byte("1"), 0)
		return nil
	})
}

// FreePorts finds count consecutive ports on loopback that nobody listens on. They lie below the range from which the
// kernel takes the ports of outgoing connections, so a service that is down for a moment does not lose its port to one.
func FreePorts(count int) (int, error) {
	const first, last = 20000, 32000
	for range 200 {
		port := first + rand.IntN(last-first-count)
		if allFree(port, count) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row between %d and %d", count, first, last)
}

func allFree(first, count int) bool {
	for port := first; port < first+count; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort(Loopback, strconv.Itoa(port)))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
