// Command database starts, stops and shows a PostgreSQL for development: go run ./hack/database start --name demo.
//
// Standard output has lines KEY=value for programs, standard error says what is going on.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/hack/service"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	cancel()
	if err != nil {
		service.Explain(os.Stderr, err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "database",
		Short:         "A PostgreSQL for development, from packages",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(startCommand(), stopCommand(), statusCommand())
	return root
}

func nameFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("name", "dev", "name of the server")
}

func startCommand() *cobra.Command {
	var options postgres.Options
	var database, role string
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start a server, or keep the one of that name that runs, and print how to reach it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Progress = cmd.ErrOrStderr()
			server, err := postgres.Start(cmd.Context(), options)
			if err != nil {
				return err
			}
			if err := provide(cmd.Context(), server, database, role); err != nil {
				return err
			}
			describe(cmd.OutOrStdout(), server, database, role)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Name, "name", "dev", "name of the server")
	flags.IntVar(&options.Port, "port", 0, "port; 0 takes a free one, or 5432 in a network namespace")
	flags.StringVar(&options.Netns, "netns", "", "network namespace to run in")
	flags.StringSliceVar(&options.ListenAddresses, "listen", nil, "addresses to listen on (default loopback, or the node's in a namespace)")
	flags.IntVar(&options.Version, "version", postgres.DefaultVersion, "major version; other than the default it must be installed")
	flags.BoolVar(&options.WithoutTLS, "without-tls", false, "speak plain text only")
	flags.StringSliceVar(&options.Hosts, "host", nil, "further names and addresses in the certificate")
	flags.StringArrayVar(&options.HBA, "hba", nil, "line for the beginning of pg_hba.conf")
	flags.StringToStringVar(&options.Settings, "set", nil, "setting of PostgreSQL, name=value")
	flags.BoolVar(&options.NotDurable, "not-durable", false, "switch fsync off")
	flags.StringVar(&database, "database", "postgres", "database to create if it is not there")
	flags.StringVar(&role, "role", "postgres", "role to create if it is not there; it owns the database")
	return cmd
}

func provide(ctx context.Context, server *postgres.Server, database, role string) error {
	if role != "postgres" {
		if err := server.CreateRole(ctx, role); err != nil {
			return err
		}
	}
	if database == "postgres" {
		return nil
	}
	return server.CreateDatabase(ctx, database, role)
}

func stopCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "stop", Short: "Stop a server and remove its data", Args: cobra.NoArgs}
	name := nameFlag(cmd)
	keep := cmd.Flags().Bool("keep", false, "keep the data, from which a later start goes on")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		server, err := postgres.Find(*name)
		if errors.Is(err, service.ErrNotFound) {
			fmt.Fprintf(cmd.ErrOrStderr(), "database %q is not there\n", *name)
			return nil
		}
		if err != nil {
			return err
		}
		if *keep {
			return server.Stop(cmd.Context())
		}
		return server.Remove(cmd.Context())
	}
	return cmd
}

func statusCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show a server; exits with 1 if it does not answer", Args: cobra.NoArgs}
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		server, err := postgres.Find(*name)
		if err != nil {
			return err
		}
		describe(cmd.OutOrStdout(), server, "postgres", "postgres")
		if !server.Running() {
			return fmt.Errorf("database %q is stopped; its data is in %s", *name, server.Dir())
		}
		return server.Ping(cmd.Context())
	}
	return cmd
}

func describe(out io.Writer, server *postgres.Server, database, role string) {
	o := server.Options()
	lines := [][2]string{
		{"NAME", o.Name},
		{"VERSION", fmt.Sprint(o.Version)},
		{"DATABASE_URL", server.URL(database, role)},
		{"ADDRESS", server.Address()},
		{"CA_FILE", server.CAFile()},
		{"NETNS", o.Netns},
		{"LISTEN", strings.Join(o.ListenAddresses, ",")},
		{"PID", fmt.Sprint(server.Process().PID)},
		{"RUNNING", fmt.Sprint(server.Running())},
		{"LOG_FILE", server.LogFile()},
	}
	if o.Netns != "" {
		lines = append(lines, [2]string{"POD_DATABASE_URL", server.PodURL(database, role)})
	}
	for _, line := range lines {
		fmt.Fprintf(out, "%s=%s\n", line[0], line[1])
	}
}
