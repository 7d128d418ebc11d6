package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/relay"
	"github.com/relayfleet/relayfleet/relay/settings"
)

func newValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Checks a relay's settings file and names every problem in it",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := settings.Load(args[0])
			if err != nil {
				return err
			}
			if _, err := relay.Limits(s); err != nil {
				return fmt.Errorf("settings: %w", err)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), "valid")
			return err
		},
	}
}
