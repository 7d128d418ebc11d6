// Package commands is the command line: a file per sub-command.
package commands

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/hack/cluster/binaries"
	"github.com/relayfleet/relayfleet/hack/cluster/cache"
	"github.com/relayfleet/relayfleet/hack/cluster/node"
	"github.com/relayfleet/relayfleet/hack/cluster/progress"
)

// Root returns the program's root command.
func Root() *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster",
		Short: "A Kubernetes for demo and tests",
		Long: "A Kubernetes for demo and tests. Results go to stdout, progress to stderr.\n" +
			"Run it from the repository: go -C hack/cluster run . COMMAND",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.AddCommand(up(), down(), status(), buildBinaries(), assets(), load(), kill(), logs(), installPackages())
	return root
}

// place is where this run stands: its repository, its cache, its screen.
type place struct {
	checkout string
	source   string
	cache    string
	steps    *progress.Steps
}

func here() (place, error) {
	source, err := sourceFolder()
	if err != nil {
		return place{}, err
	}
	folder, err := cache.Dir()
	if err != nil {
		return place{}, err
	}
	return place{
		checkout: filepath.Dir(filepath.Dir(source)), source: source, cache: folder, steps: progress.New(os.Stderr),
	}, nil
}

// sourceFolder finds hack/cluster from the current folder upwards.
func sourceFolder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	for {
		for _, candidate := range []string{dir, filepath.Join(dir, "hack", "cluster")} {
			if _, err := os.Stat(filepath.Join(candidate, binaries.APIServer.Wrapper, "go.mod")); err == nil {
				return candidate, nil
			}
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("run this inside the repository: hack/cluster was not found")
		}
		dir = filepath.Dir(dir)
	}
}

func (p place) builder() *binaries.Builder {
	return &binaries.Builder{Source: p.source, Cache: p.cache, Steps: p.steps}
}

// nodeState is the folder of what lives as long as the single node.
func (p place) nodeState() string { return filepath.Join(p.cache, "cluster") }

// ownedNode is the single node, refused where it is another checkout's.
func (p place) ownedNode() (*node.Node, error) {
	n, err := p.node()
	if err != nil {
		return nil, err
	}
	return n, n.CheckOwned()
}

// node describes the single node without building anything.
func (p place) node() (*node.Node, error) {
	var folders []string
	for _, g := range binaries.All {
		folder, err := p.builder().Folder(g)
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return &node.Node{
		Checkout: p.checkout,
		Paths:    node.Paths{State: p.nodeState()},
		Binaries: node.Binaries{APIServer: folders[0], Node: folders[1], Containerd: folders[2]},
		Steps:    p.steps,
	}, nil
}

func (p place) program(g binaries.Group, name string) (string, error) {
	folder, err := p.builder().Folder(g)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	return filepath.Join(folder, name), nil
}
