// Package choice decides which cluster a start gives: pure, from what was
// asked for and what the machine has.
package choice

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is a kind of cluster.
type Kind string

const (
	// Existing is a cluster of the user's own, used only when told to.
	Existing Kind = "existing"
	// InDocker is a cluster made by kind in a Docker engine.
	InDocker Kind = "kind"
	// Node is the single node that this program runs itself.
	Node Kind = "node"
)

// Asked is what the user said.
type Asked struct {
	// Cluster is $CLUSTER: empty or "auto", or a Kind.
	Cluster string
	// Kubeconfig is the flag or $KUBECONFIG; FromFlag tells them apart, because
	// most shells of cluster users have the variable set and mean nothing by it.
	Kubeconfig string
	FromFlag   bool
	// Image, DatabaseURL and Brokers are what a foreign cluster has to be given.
	Image, DatabaseURL, Brokers string
}

// Machine is what was found.
type Machine struct {
	Root bool
	// Docker says whether `docker info` answers: the client alone proves nothing.
	Docker bool
	// Linux says whether network namespaces can exist at all.
	Linux bool
}

// errNoCluster is the sentence for a machine that can run none by itself.
var errNoCluster = errors.New("no cluster can be started here: the single node needs Linux and root " +
	"(run the same command with sudo), kind needs a Docker engine that answers `docker info`, and a cluster of your own " +
	"is used when you set CLUSTER=existing, KUBECONFIG, IMAGE, DATABASE_URL and BROKERS")

// Of returns the kind of cluster, or the sentence that says why there is none.
func Of(asked Asked, machine Machine) (Kind, error) {
	want := asked.Cluster
	if want == "" || want == "auto" {
		want = automatic(asked, machine)
	}
	switch Kind(want) {
	case Existing:
		return Existing, checkExisting(asked)
	case InDocker:
		if !machine.Docker {
			return "", errors.New("CLUSTER=kind needs a Docker engine, and `docker info` does not answer: start Docker, or leave CLUSTER unset")
		}
		return InDocker, nil
	case Node:
		if !machine.Linux || !machine.Root {
			return "", errNoCluster
		}
		return Node, nil
	default:
		return "", fmt.Errorf("CLUSTER=%s is unknown: use auto, existing, kind or node", want)
	}
}

func automatic(asked Asked, machine Machine) string {
	switch {
	case asked.FromFlag:
		return string(Existing)
	case machine.Docker:
		return string(InDocker)
	default:
		return string(Node)
	}
}

// checkExisting refuses a foreign cluster that lacks what it cannot be given
// from here: a cluster elsewhere can neither load an image from this machine
// nor reach a database or broker on it.
func checkExisting(asked Asked) error {
	needed := []struct{ name, value string }{
		{"KUBECONFIG (or --kubeconfig)", asked.Kubeconfig},
		{"IMAGE", asked.Image},
		{"DATABASE_URL", asked.DatabaseURL},
		{"BROKERS", asked.Brokers},
	}
	var missing []string
	for _, n := range needed {
		if n.value == "" {
			missing = append(missing, n.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("an existing cluster needs KUBECONFIG, IMAGE (which it can pull), DATABASE_URL and BROKERS "+
		"(which its pods can reach); missing: %s", strings.Join(missing, ", "))
}
