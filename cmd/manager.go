package cmd

import (
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/relayfleet/relayfleet/controllers"
)

type managerFlags struct {
	options    controllers.Options
	kubeconfig string
	verbose    bool
}

func newManager() *cobra.Command {
	var f managerFlags
	c := &cobra.Command{
		Use:   "manager",
		Short: "Runs the operator",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runManager(c, f) },
	}
	o := &f.options
	c.Flags().DurationVar(&o.PollInterval, "poll-interval", 15*time.Second, "how often relays are asked for their report; at least 5s")
	c.Flags().StringVar(&o.RelayImage, "relay-image", "", "the relays' image (default: that of the manager's own pod)")
	c.Flags().BoolVar(&o.LeaderElection, "leader-elect", false, "let one of several managers work at a time")
	c.Flags().StringSliceVar(&o.Namespaces, "namespaces", nil, "the namespaces to work in (default: all)")
	c.Flags().IntVar(&o.Workers, "workers", 8, "how many resources are worked on at once")
	c.Flags().StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "where the probes are served; 0 serves none")
	c.Flags().StringVar(&o.MetricsAddress, "metrics-bind-address", "0", "where metrics are served; 0 serves none")
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "the cluster to work in (default: the one that it runs in)")
	c.Flags().BoolVar(&f.verbose, "verbose", false, "log debug lines too")
	return c
}

func runManager(c *cobra.Command, f managerFlags) error {
	log := newLog(f.verbose)
	ctrllog.SetLogger(logr.FromSlogHandler(log.Handler()))
	klog.SetSlogLogger(log)
	config, err := clusterConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	f.options.Pod.Name, f.options.Pod.Namespace = os.Getenv("POD_NAME"), os.Getenv("POD_NAMESPACE")
	m, err := controllers.NewManager(c.Context(), config, f.options)
	if err != nil {
		return err
	}
	log.Info("Manager starts", "version", version)
	if err := m.Start(c.Context()); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	log.Info("Manager has ended")
	return nil
}

func clusterConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	return config, nil
}
