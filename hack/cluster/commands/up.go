package commands

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/cluster/binaries"
	"github.com/relayfleet/relayfleet/hack/cluster/choice"
	"github.com/relayfleet/relayfleet/hack/cluster/indocker"
	"github.com/relayfleet/relayfleet/hack/cluster/node"
	"github.com/relayfleet/relayfleet/hack/cluster/packages"
)

func up() *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, or do nothing where it runs; print its kubeconfig's path",
		Long: "Start a cluster, or do nothing where it runs, and print the path of its kubeconfig.\n\n" +
			"CLUSTER=auto (the default) takes kind where `docker info` answers, else the single node (Linux, root).\n" +
			"CLUSTER=existing, or --kubeconfig, takes a cluster of yours; it needs KUBECONFIG, IMAGE, DATABASE_URL and BROKERS.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := here()
			if err != nil {
				return err
			}
			kind, err := choice.Of(asked(kubeconfig), machine(cmd.Context()))
			if err != nil {
				return err
			}
			path, err := p.up(cmd.Context(), kind, kubeconfig)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), path)
			return nil
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "use the existing cluster of this kubeconfig")
	return cmd
}

func asked(kubeconfig string) choice.Asked {
	a := choice.Asked{
		Cluster: os.Getenv("CLUSTER"), Kubeconfig: kubeconfig, FromFlag: kubeconfig != "",
		Image: os.Getenv("IMAGE"), DatabaseURL: os.Getenv("DATABASE_URL"), Brokers: os.Getenv("BROKERS"),
	}
	if a.Kubeconfig == "" {
		a.Kubeconfig = os.Getenv("KUBECONFIG")
	}
	return a
}

func machine(ctx context.Context) choice.Machine {
	return choice.Machine{
		Root: os.Geteuid() == 0, Linux: runtime.GOOS == "linux", Docker: indocker.DockerAnswers(ctx),
	}
}

func (p place) up(ctx context.Context, kind choice.Kind, kubeconfig string) (string, error) {
	switch kind {
	case choice.Existing:
		return p.takeExisting(ctx, kubeconfig)
	case choice.InDocker:
		return p.startInDocker(ctx)
	default:
		return p.startNode(ctx)
	}
}

func (p place) startNode(ctx context.Context) (string, error) {
	log := filepath.Join(p.cache, "packages.log")
	if err := packages.Ensure(ctx, p.steps, log, node.Packages...); err != nil {
		return "", err
	}
	for _, g := range binaries.All {
		if _, err := p.builder().Build(ctx, g); err != nil {
			return "", err
		}
	}
	n, err := p.node()
	if err != nil {
		return "", err
	}
	if err := n.Up(ctx); err != nil {
		return "", err
	}
	path := n.Paths.Kubeconfig()
	return path, p.remember(chosen{choice.Node, path})
}

func (p place) startInDocker(ctx context.Context) (string, error) {
	for _, g := range []binaries.Group{binaries.Kind, binaries.APIServer} {
		if _, err := p.builder().Build(ctx, g); err != nil {
			return "", err
		}
	}
	c, err := p.inDocker()
	if err != nil {
		return "", err
	}
	if err := p.remember(chosen{choice.InDocker, c.Kubeconfig}); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(c.Kubeconfig), 0o700); err != nil {
		return "", err
	}
	return c.Kubeconfig, c.Up(ctx)
}

func (p place) inDocker() (indocker.Cluster, error) {
	client, err := p.program(binaries.Kind, "kind")
	if err != nil {
		return indocker.Cluster{}, err
	}
	kubectl, err := p.program(binaries.APIServer, "kubectl")
	return indocker.Cluster{
		Client: client, KubectlBinary: kubectl, Kubeconfig: filepath.Join(p.cache, "kind", "kubeconfig"), Steps: p.steps,
	}, err
}

// takeExisting checks that the cluster answers and changes nothing in it.
func (p place) takeExisting(ctx context.Context, kubeconfig string) (string, error) {
	if kubeconfig == "" {
		kubeconfig = os.Getenv("KUBECONFIG")
	}
	path, err := filepath.Abs(kubeconfig)
	if err != nil {
		return "", err
	}
	if err := p.checkExisting(ctx, path); err != nil {
		return "", fmt.Errorf("the cluster of %s does not answer: %w", path, err)
	}
	return path, p.remember(chosen{choice.Existing, path})
}
