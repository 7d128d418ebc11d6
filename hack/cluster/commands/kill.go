package commands

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/cluster/choice"
	"github.com/relayfleet/relayfleet/hack/cluster/podkill"
)

func kill() *cobra.Command {
	var namespace, container string
	cmd := &cobra.Command{
		Use:   "kill POD",
		Short: "Kill a pod's container by a SIGKILL from the runtime and prove it by exit code 137; print both as JSON",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := here()
			if err != nil {
				return err
			}
			killer, err := p.killer()
			if err != nil {
				return err
			}
			killed, err := killer.Kill(cmd.Context(), namespace, args[0], container)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(killed)
		},
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "the pod's namespace")
	cmd.Flags().StringVarP(&container, "container", "c", "", "the container (default: the pod's first)")
	return cmd
}

func (p place) killer() (podkill.Killer, error) {
	c, err := p.chosen()
	if err != nil {
		return podkill.Killer{}, err
	}
	switch c.Kind {
	case choice.Node:
		n, err := p.ownedNode()
		if err != nil {
			return podkill.Killer{}, err
		}
		return podkill.Killer{Kubectl: n.Kubectl, Ctr: n.Ctr}, nil
	case choice.InDocker:
		d, err := p.inDocker()
		return podkill.Killer{Kubectl: d.Kubectl, Ctr: d.Ctr}, err
	case choice.Existing:
		return podkill.Killer{}, errors.New("the container runtime of an existing cluster is out of reach: no SIGKILL can be sent from here")
	default:
		return podkill.Killer{}, errNotRunning
	}
}
