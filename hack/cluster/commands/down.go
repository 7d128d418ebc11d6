package commands

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/cluster/choice"
	"github.com/relayfleet/relayfleet/hack/cluster/node"
)

func down() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove all of it but the built binaries",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := here()
			if err != nil {
				return err
			}
			c, err := p.chosen()
			if err != nil && !force {
				return err
			}
			if err := p.end(cmd.Context(), c, force); err != nil {
				return err
			}
			return p.forget()
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also stop the node of another checkout")
	return cmd
}

// end ends what the last start gave, and a single node of an earlier start.
func (p place) end(ctx context.Context, c chosen, force bool) error {
	n, err := p.node()
	if err != nil {
		return err
	}
	switch c.Kind {
	case choice.Existing:
		p.steps.Say("The existing cluster of %s is left as it is.", c.Kubeconfig)
	case choice.InDocker:
		if err := p.endInDocker(ctx); err != nil {
			return err
		}
	case choice.Node: // ended below, like one of an earlier start
	}
	if c.Kind != choice.Existing && c.Kind != choice.InDocker || n.Owned() {
		return p.endNode(ctx, n, force)
	}
	return nil
}

func (p place) endInDocker(ctx context.Context) error {
	d, err := p.inDocker()
	if err != nil {
		return err
	}
	if err := d.Down(ctx); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Dir(d.Kubeconfig))
}

func (p place) endNode(ctx context.Context, n *node.Node, force bool) error {
	if os.Geteuid() != 0 {
		p.steps.Say("No cluster of this user runs (a single node is stopped by root).")
		return nil
	}
	return n.Down(ctx, force)
}
