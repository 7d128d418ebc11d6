package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/cluster/binaries"
	"github.com/relayfleet/relayfleet/hack/cluster/choice"
	"github.com/relayfleet/relayfleet/hack/cluster/node"
)

// report is what `status` says, and what scripts read of it with -o json.
type report struct {
	Kind    choice.Kind `json:"kind"`
	Running bool        `json:"running"`
	Problem string      `json:"problem,omitempty"`
	// Kubeconfig and Kubectl are paths.
	Kubeconfig string `json:"kubeconfig"`
	Kubectl    string `json:"kubectl"`
	// NetworkNamespace is where a database and a broker for this cluster are
	// started; empty means on the host itself.
	NetworkNamespace string `json:"networkNamespace"`
	// HostReaches and PodsReach are the addresses of what runs there, as seen
	// from the host and from pods; empty on an existing cluster.
	HostReaches string `json:"hostReaches"`
	PodsReach   string `json:"podsReach"`
	PodSubnet   string `json:"podSubnet"`
	HostAddress string `json:"hostAddress"`
	// Loads and Kills say whether the commands load and kill work here.
	Loads bool   `json:"loads"`
	Kills bool   `json:"kills"`
	Logs  string `json:"logs"`
}

func status() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say whether a cluster runs and how it is reached; exit with 1 where none does",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := here()
			if err != nil {
				return err
			}
			r, err := p.report(cmd.Context())
			if err != nil {
				return err
			}
			if err := r.print(cmd.OutOrStdout(), format); err != nil {
				return err
			}
			if !r.Running {
				return errNotRunning
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	return cmd
}

var errNotRunning = errors.New("no cluster of this checkout runs: start one with `make cluster`")

func (p place) report(ctx context.Context) (report, error) {
	c, err := p.chosen()
	if err != nil {
		return report{}, err
	}
	switch c.Kind {
	case choice.Existing:
		return p.reportExisting(ctx, c)
	case choice.InDocker:
		return p.reportInDocker(ctx, c)
	default:
		return p.reportNode(ctx)
	}
}

func (p place) reportNode(ctx context.Context) (report, error) {
	n, err := p.node()
	if err != nil {
		return report{}, err
	}
	s, err := n.Status(ctx)
	if err != nil {
		return report{}, err
	}
	kubectl, err := p.program(binaries.APIServer, "kubectl")
	return report{
		Kind: choice.Node, Running: s.Running, Problem: s.Problem,
		Kubeconfig: n.Paths.Kubeconfig(), Kubectl: kubectl, NetworkNamespace: node.Namespace,
		HostReaches: node.Address, PodsReach: node.BridgeAddress, PodSubnet: node.PodSubnet, HostAddress: node.HostAddress,
		Loads: true, Kills: true, Logs: n.Paths.Logs(),
	}, err
}

func (p place) reportInDocker(ctx context.Context, c chosen) (report, error) {
	d, err := p.inDocker()
	if err != nil {
		return report{}, err
	}
	r := report{
		Kind: c.Kind, Kubeconfig: c.Kubeconfig, Kubectl: d.KubectlBinary,
		HostReaches: "127.0.0.1", Loads: true, Kills: true,
	}
	if r.Running, err = d.Exists(ctx); err != nil || !r.Running {
		return r, err
	}
	r.PodsReach, err = d.Gateway(ctx)
	return r, err
}

func (p place) reportExisting(ctx context.Context, c chosen) (report, error) {
	r := report{Kind: c.Kind, Kubeconfig: c.Kubeconfig}
	kubectl, err := p.kubectlForExisting(ctx)
	if err != nil {
		return r, err
	}
	r.Kubectl = kubectl
	if err := p.checkExisting(ctx, c.Kubeconfig); err != nil {
		r.Problem = err.Error()
		return r, nil //nolint:nilerr // That it does not answer is the answer.
	}
	r.Running = true
	return r, nil
}

func (r report) print(out io.Writer, format string) error {
	if format == "json" {
		return json.NewEncoder(out).Encode(r)
	}
	if format != "text" {
		return fmt.Errorf("output %q is unknown: use text or json", format)
	}
	state := "not running"
	switch {
	case r.Running:
		state = "running"
	case r.Problem != "":
		state = "not running: " + r.Problem
	}
	for _, line := range []struct{ name, value string }{
		{"cluster", string(r.Kind) + ", " + state},
		{"kubeconfig", r.Kubeconfig},
		{"kubectl", r.Kubectl},
		{"network namespace", r.NetworkNamespace},
		{"host reaches it at", r.HostReaches},
		{"pods reach it at", r.PodsReach},
		{"logs", r.Logs},
	} {
		if line.value != "" {
			fmt.Fprintf(out, "%-19s %s\n", line.name, line.value)
		}
	}
	return nil
}
