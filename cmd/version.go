package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
)

// version is set at link time, with -ldflags "-X …/cmd.version=v1.2.3".
var version = "v0.0.0-dev"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Prints the version",
		Args:  cobra.NoArgs,
		Run:   func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), version) },
	}
}
