package commands

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/cluster/choice"
	"github.com/relayfleet/relayfleet/hack/cluster/progress"
)

func load() *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE ARCHIVE",
		Short: "Bring an image archive (OCI or Docker format) to the cluster's node",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := here()
			if err != nil {
				return err
			}
			return p.steps.Run(cmd.Context(), progress.Step{
				Name: "Load the image " + args[0], Expect: 10 * time.Second,
				Do: func(ctx context.Context, _ *progress.At) error { return p.load(ctx, args[0], args[1]) },
			})
		},
	}
}

func (p place) load(ctx context.Context, image, archive string) error {
	c, err := p.chosen()
	if err != nil {
		return err
	}
	switch c.Kind {
	case choice.Node:
		n, err := p.ownedNode()
		if err != nil {
			return err
		}
		return n.Load(ctx, image, archive)
	case choice.InDocker:
		d, err := p.inDocker()
		if err != nil {
			return err
		}
		return d.Load(ctx, archive)
	case choice.Existing:
		return errors.New("an existing cluster pulls its images itself: nothing can be loaded into it")
	default:
		return errNotRunning
	}
}
