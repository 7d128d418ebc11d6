package commands

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/relayfleet/relayfleet/hack/cluster/binaries"
)

// kubectlForExisting prefers the user's own kubectl, which fits their cluster's
// version; the one built here fits the single node's.
func (p place) kubectlForExisting(ctx context.Context) (string, error) {
	if path, err := exec.LookPath("kubectl"); err == nil {
		return path, nil
	}
	if _, err := p.builder().Build(ctx, binaries.APIServer); err != nil {
		return "", err
	}
	return p.program(binaries.APIServer, "kubectl")
}

func (p place) checkExisting(ctx context.Context, kubeconfig string) error {
	kubectl, err := p.kubectlForExisting(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, kubectl, "--kubeconfig", kubeconfig, "--request-timeout=10s", "get", "--raw", "/readyz")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
