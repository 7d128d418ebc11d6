// Command broker starts, stops and shows a Kafka for development: go run ./hack/broker start --name demo.
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

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/embedded"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
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
		Use:           "broker",
		Short:         "A Kafka for development, from packages",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(startCommand(), stopCommand(), statusCommand(), topicCommand(), serveCommand())
	return root
}

// running is what the two kinds of broker have in common.
type running interface {
	Addresses() []string
	Admin() admin.Cluster
	Running() bool
	Remove(ctx context.Context) error
}

func find(name string) (running, error) {
	cluster, err := kafka.Find(name)
	if !errors.Is(err, service.ErrNotFound) {
		return cluster, err
	}
	return embedded.Find(name)
}

func startCommand() *cobra.Command {
	var options kafka.Options
	var inMemory bool
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start a cluster, or keep the one of that name that runs, and print how to reach it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Progress = cmd.ErrOrStderr()
			if inMemory {
				b, err := embedded.Start(cmd.Context(), embedded.Options{
					Name: options.Name, Port: options.Port, Netns: options.Netns, Progress: options.Progress,
				})
				if err != nil {
					return err
				}
				describe(cmd.OutOrStdout(), options.Name, b)
				return nil
			}
			c, err := kafka.Start(cmd.Context(), options)
			if err != nil {
				return err
			}
			describe(cmd.OutOrStdout(), options.Name, c)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Name, "name", "dev", "name of the cluster")
	flags.IntVar(&options.Port, "port", 0, "port of the first broker, three in a row each; 0 takes free ones, or 9092 in a network namespace")
	flags.StringVar(&options.Netns, "netns", "", "network namespace to run in")
	flags.IntVar(&options.Count, "count", 1, "how many brokers")
	flags.StringVar(&options.Version, "version", kafka.DefaultVersion, "version of Kafka")
	flags.StringToStringVar(&options.Settings, "set", nil, "setting of the brokers, name=value")
	flags.BoolVar(&inMemory, "embedded", false, "an "+embedded.Notice)
	return cmd
}

func stopCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "stop", Short: "Stop a cluster and remove its data", Args: cobra.NoArgs}
	name := cmd.Flags().String("name", "dev", "name of the cluster")
	keep := cmd.Flags().Bool("keep", false, "keep the data, from which a later start goes on")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b, err := find(*name)
		if errors.Is(err, service.ErrNotFound) {
			fmt.Fprintf(cmd.ErrOrStderr(), "broker %q is not there\n", *name)
			return nil
		}
		if err != nil {
			return err
		}
		if cluster, ok := b.(*kafka.Cluster); ok && *keep {
			return cluster.Stop(cmd.Context())
		}
		return b.Remove(cmd.Context())
	}
	return cmd
}

func statusCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show a cluster; exits with 1 if it does not run", Args: cobra.NoArgs}
	name := cmd.Flags().String("name", "dev", "name of the cluster")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b, err := find(*name)
		if err != nil {
			return err
		}
		describe(cmd.OutOrStdout(), *name, b)
		if !b.Running() {
			return fmt.Errorf("broker %q does not run", *name)
		}
		return nil
	}
	return cmd
}

func serveCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "Be an " + embedded.Notice, Args: cobra.NoArgs}
	address := cmd.Flags().String("address", "127.0.0.1:9092", "where to listen")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		fmt.Fprintln(cmd.ErrOrStderr(), embedded.Notice)
		return embedded.Serve(cmd.Context(), *address)
	}
	return cmd
}

func topicCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "topic", Short: "Create, delete or describe a topic"}
	name := cmd.PersistentFlags().String("name", "dev", "name of the cluster")
	topic := admin.Topic{}
	create := &cobra.Command{Use: "create TOPIC", Args: cobra.ExactArgs(1), RunE: onTopic(name, func(ctx context.Context, c admin.Cluster, _ io.Writer, t string) error {
		topic.Name = t
		return c.CreateTopic(ctx, topic)
	})}
	create.Flags().Int32Var(&topic.Partitions, "partitions", 1, "how many partitions")
	create.Flags().Int16Var(&topic.Replicas, "replicas", 1, "how many replicas")
	create.Flags().StringToStringVar(&topic.Config, "set", nil, "setting of the topic, name=value")
	remove := &cobra.Command{Use: "delete TOPIC", Args: cobra.ExactArgs(1), RunE: onTopic(name, func(ctx context.Context, c admin.Cluster, _ io.Writer, t string) error {
		return c.DeleteTopic(ctx, t)
	})}
	show := &cobra.Command{Use: "describe TOPIC", Args: cobra.ExactArgs(1), RunE: onTopic(name, func(_ context.Context, c admin.Cluster, out io.Writer, t string) error {
		partitions, err := c.DescribeTopic(t)
		for _, p := range partitions {
			fmt.Fprintf(out, "PARTITION=%d LEADER=%d REPLICAS=%v IN_SYNC=%v\n", p.ID, p.Leader, p.Replicas, p.InSync)
		}
		return err
	})}
	cmd.AddCommand(create, remove, show)
	return cmd
}

func onTopic(name *string, do func(context.Context, admin.Cluster, io.Writer, string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		b, err := find(*name)
		if err != nil {
			return err
		}
		return do(cmd.Context(), b.Admin(), cmd.OutOrStdout(), args[0])
	}
}

func describe(out io.Writer, name string, b running) {
	lines := [][2]string{{"NAME", name}, {"BROKERS", strings.Join(b.Addresses(), ",")}, {"RUNNING", fmt.Sprint(b.Running())}}
	if c, ok := b.(*kafka.Cluster); ok {
		lines = append(lines, [2]string{"VERSION", c.Options().Version}, [2]string{"NETNS", c.Options().Netns}, [2]string{"LOG_FILE", c.LogFile(0)})
		if c.Options().Netns != "" {
			lines = append(lines, [2]string{"POD_BROKERS", strings.Join(c.PodAddresses(), ",")})
		}
	} else {
		lines = append(lines, [2]string{"NOTICE", embedded.Notice})
	}
	for _, line := range lines {
		fmt.Fprintf(out, "%s=%s\n", line[0], line[1])
	}
}
