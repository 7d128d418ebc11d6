// Command demo shows Relayfleet on a real Kubernetes, PostgreSQL and Kafka, from
// nothing: go run ./hack/demo.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/broker/embedded"
	"github.com/relayfleet/relayfleet/hack/demo/machine"
	"github.com/relayfleet/relayfleet/hack/demo/play"
	"github.com/relayfleet/relayfleet/hack/demo/stage"
	"github.com/relayfleet/relayfleet/hack/service"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		service.Explain(os.Stderr, err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use: "demo", Short: "Show Relayfleet on a real Kubernetes, PostgreSQL and Kafka",
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error { return demo(c.Context(), c.OutOrStdout()) },
	}
	root.AddCommand(
		&cobra.Command{
			Use: "prepare", Short: "List what this machine has, and install what is missing", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				return prepare(c.Context(), c.OutOrStdout())
			},
		},
		&cobra.Command{
			Use: "down", Short: "End the demo's cluster, database and broker", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return stage.Down(c.Context(), c.ErrOrStderr()) },
		},
	)
	return root
}

// prepare says what was found before anything takes long.
func prepare(ctx context.Context, w io.Writer) error {
	found := machine.Look(ctx)
	if !found.Has("Java") || !found.Has("Maven") {
		if len(found.Packages()) == 0 || !found.MayInstall() {
			fmt.Fprintf(w, "No Kafka here, hence an %s.\n", embedded.Notice)
		}
	}
	fmt.Fprintln(w, "Found on this machine:")
	found.Print(w)
	return found.Install(ctx, w, stage.InstallPackages(w))
}

func demo(ctx context.Context, w io.Writer) error {
	began := time.Now()
	if err := prepare(ctx, w); err != nil {
		return err
	}
	s, err := stage.Up(ctx, w)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "The stage is up after %s.\n", time.Since(began).Round(time.Second))
	result, err := play.Run(ctx, s, play.Usual, w)
	if result.ExitCode != 0 {
		fmt.Fprintf(w, "The killed relay ended with exit code %d.\n", result.ExitCode)
	}
	fmt.Fprintf(w, "Verdict: %s; up to %d relays; %s in all.\n", result.Verdict, result.Grown, time.Since(began).Round(time.Second))
	fmt.Fprintf(w, "The cluster stays up: export KUBECONFIG=%s; %s get outboxrelays -A\nmake cluster-down ends it.\n",
		s.Kubectl.Kubeconfig, s.Kubectl.Program)
	return err
}
