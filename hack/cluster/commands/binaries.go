package commands

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/cluster/binaries"
)

func buildBinaries() *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use:   "binaries",
		Short: "Build the programs of the single node; print their folders",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			groups, err := binaries.Named(only)
			if err != nil {
				return err
			}
			return printBuilt(cmd, groups)
		},
	}
	cmd.Flags().StringVar(&only, "only", "", "one group: apiserver (kube-apiserver, etcd, kubectl), node, containerd or kind")
	return cmd
}

func assets() *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Build what envtest needs and print its folder, for KUBEBUILDER_ASSETS",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printBuilt(cmd, []binaries.Group{binaries.APIServer})
		},
	}
}

func printBuilt(cmd *cobra.Command, groups []binaries.Group) error {
	p, err := here()
	if err != nil {
		return err
	}
	for _, g := range groups {
		folder, err := p.builder().Build(cmd.Context(), g)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), filepath.Clean(folder))
	}
	return nil
}
