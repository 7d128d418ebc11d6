package commands

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/cluster/choice"
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
			if err := p.end(cmd, c, force); err != nil {
				return err
			}
			return os.RemoveAll(p.state())
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also stop the node of another checkout")
	return cmd
}

func (p place) end(cmd *cobra.Command, c chosen, force bool) error {
	switch {
	case c.Kind == choice.Existing:
		p.steps.Say("The existing cluster of %s is left as it is.", c.Kubeconfig)
		return nil
	case c.Kind == choice.InDocker:
		d, err := p.inDocker()
		if err != nil {
			return err
		}
		return d.Down(cmd.Context())
	case os.Geteuid() != 0:
		p.steps.Say("No cluster of this user runs (a single node is stopped by root).")
		return nil
	default:
		n, err := p.node()
		if err != nil {
			return err
		}
		return n.Down(cmd.Context(), force)
	}
}
