package commands

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/cluster/node"
	"github.com/relayfleet/relayfleet/hack/cluster/progress"
)

func logs() *cobra.Command {
	var lines int
	cmd := &cobra.Command{
		Use:   "logs [COMPONENT]",
		Short: "Print the last lines of the single node's logs, of all components or of one",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := here()
			if err != nil {
				return err
			}
			return printLogs(cmd.OutOrStdout(), node.Paths{State: p.nodeState()}.Logs(), args, lines)
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "l", 20, "how many lines of each")
	return cmd
}

func printLogs(out io.Writer, folder string, wanted []string, lines int) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return errNotRunning
	}
	found := false
	for _, f := range files {
		component := strings.TrimSuffix(f.Name(), ".log")
		if len(wanted) > 0 && !slices.Contains(wanted, component) {
			continue
		}
		found = true
		fmt.Fprintf(out, "==> %s <==\n", filepath.Join(folder, f.Name()))
		for _, line := range progress.Tail(filepath.Join(folder, f.Name()), lines) {
			fmt.Fprintln(out, line)
		}
	}
	if !found {
		return fmt.Errorf("the node has no component %s", strings.Join(wanted, ", "))
	}
	return nil
}
