package commands

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/cluster/packages"
)

func installPackages() *cobra.Command {
	return &cobra.Command{
		Use:   "packages NAME...",
		Short: "Install the Debian packages that are missing, naming them first (INSTALL=0 forbids it)",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			p, err := here()
			if err != nil {
				return err
			}
			if !packages.Detect().Debian {
				return errors.New("this system has no dpkg and apt-get: install the equivalents by hand")
			}
			return packages.Ensure(cmd.Context(), p.steps, filepath.Join(p.cache, "packages.log"), names...)
		},
	}
}
