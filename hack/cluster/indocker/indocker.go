// Package indocker runs the cluster in a Docker engine by kind. It is written
// but not verified: no machine with a Docker engine has run it yet.
package indocker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/relayfleet/relayfleet/hack/cluster/progress"
)

// Unverified is said at each start.
const Unverified = "note: the cluster in Docker (kind) is written but unverified; CLUSTER=node as root is the tested way"

const name = "relayfleet"

// Cluster is the kind cluster of this machine's Docker engine.
type Cluster struct {
	// Client is the kind binary.
	Client string
	// Kubectl is the kubectl binary.
	KubectlBinary string
	Kubeconfig    string
	Steps         *progress.Steps
}

// DockerAnswers says whether a Docker engine answers; its client alone proves
// nothing.
func DockerAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "info").Run() == nil
}

// Up creates the cluster, or writes its kubeconfig again where it is there.
func (c Cluster) Up(ctx context.Context) error {
	c.Steps.Say(Unverified)
	there, err := c.Exists(ctx)
	if err != nil {
		return err
	}
	if there {
		c.Steps.Say("The cluster runs already.")
		_, err := run(ctx, c.Client, "export", "kubeconfig", "--name", name, "--kubeconfig", c.Kubeconfig)
		return err
	}
	return c.Steps.Run(ctx, progress.Step{
		Name: "Create a cluster in Docker with kind", Expect: 3 * time.Minute,
		Advice: "mend what kind complains about (its node image is pulled from a registry) and run the same command again",
		Do: func(ctx context.Context, _ *progress.At) error {
			_, err := run(ctx, c.Client, "create", "cluster", "--name", name, "--kubeconfig", c.Kubeconfig, "--wait", "3m")
			return err
		},
	})
}

// Down deletes the cluster.
func (c Cluster) Down(ctx context.Context) error {
	_, err := run(ctx, c.Client, "delete", "cluster", "--name", name, "--kubeconfig", c.Kubeconfig)
	return err
}

// Exists says whether the engine has the cluster.
func (c Cluster) Exists(ctx context.Context) (bool, error) {
	out, err := run(ctx, c.Client, "get", "clusters")
	return slices.Contains(strings.Fields(out), name), err
}

// Load brings an image archive to the cluster's node.
func (c Cluster) Load(ctx context.Context, archive string) error {
	_, err := run(ctx, c.Client, "load", "image-archive", archive, "--name", name)
	return err
}

// Gateway is the address at which pods reach what runs on the host.
func (c Cluster) Gateway(ctx context.Context) (string, error) {
	out, err := run(ctx, "docker", "network", "inspect", "kind", "-f", "{{range .IPAM.Config}}{{.Gateway}} {{end}}")
	if err != nil {
		return "", err
	}
	for address := range strings.FieldsSeq(out) {
		if !strings.Contains(address, ":") {
			return address, nil
		}
	}
	return "", errors.New("the Docker network kind has no IPv4 gateway")
}

// Kubectl runs kubectl against the cluster.
func (c Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return run(ctx, c.KubectlBinary, slices.Concat([]string{"--kubeconfig", c.Kubeconfig}, args)...)
}

// Ctr runs containerd's client inside the cluster's node.
func (c Cluster) Ctr(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "docker", slices.Concat([]string{"exec", name + "-control-plane", "ctr", "--namespace", "k8s.io"}, args)...)
}

func run(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(program), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
