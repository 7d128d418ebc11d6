// Package cmd is the command line: a file per subcommand, each of which only
// reads its flags and puts the parts together.
package cmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Execute runs the command line and returns the exit status: 0, or 1 after a
// sentence on standard error. SIGTERM and an interrupt end the context of the
// command; a second one ends the process.
func Execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	if err := newRoot().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "relayfleet:", err)
		return 1
	}
	return 0
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "relayfleet",
		Short:         "Runs fleets of outbox relays: PostgreSQL to Kafka by a guarded claim loop",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newManager(), newRelay(), newSchema(), newValidate(), newVersion())
	return root
}
