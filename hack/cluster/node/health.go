package node

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Kubectl runs the kubectl that was built: one on the host may be outside the
// version skew.
func (n *Node) Kubectl(ctx context.Context, args ...string) (string, error) {
	all := slices.Concat([]string{"--kubeconfig", n.Paths.Kubeconfig(), "--request-timeout=10s"}, args)
	return output(exec.CommandContext(ctx, filepath.Join(n.Binaries.APIServer, "kubectl"), all...))
}

// Ctr runs containerd's client in the namespace that the kubelet uses.
func (n *Node) Ctr(ctx context.Context, args ...string) (string, error) {
	all := slices.Concat([]string{"--address", containerdSocket(), "--namespace", "k8s.io"}, args)
	return output(exec.CommandContext(ctx, filepath.Join(n.Binaries.Containerd, "ctr"), all...))
}

// output returns what a command prints; its error carries what it complained.
func output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

func (n *Node) checkAPI(ctx context.Context) error {
	_, err := n.Kubectl(ctx, "get", "--raw", "/readyz")
	return err
}

// checkReady passes when pods can be created: the node is ready and the default
// service account is there.
func (n *Node) checkReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	ready, err := n.Kubectl(ctx, "get", "node", NodeName, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	if err != nil {
		return err
	}
	if ready != "True" {
		return fmt.Errorf("the node's condition Ready is %q", ready)
	}
	_, err = n.Kubectl(ctx, "get", "serviceaccount", "default", "-n", "default")
	return err
}
