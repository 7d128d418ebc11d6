// Package binaries builds the programs that a node is made of from the Go
// module proxy and keeps them in the cache. Their versions stand in the go.mod
// files of the wrapper modules beside this package and nowhere else.
package binaries

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// Group is what one `go build` makes, into one folder.
type Group struct {
	// Name names the group on the command line and in its folder.
	Name string
	// Wrapper is the folder of the wrapper module, beside this package.
	Wrapper string
	// Main is the module whose version the group carries.
	Main string
	// Programs maps a program's name to its package.
	Programs map[string]string
	// Expect is what a build takes with nothing cached on two cores.
	Expect time.Duration

	tags    []string
	ldflags func(version string) string
}

// APIServer is the control plane's front and its client. It is all that
// envtest needs, therefore a group of its own.
var APIServer = Group{
	Name: "apiserver", Wrapper: "kubernetes", Main: "k8s.io/kubernetes",
	Programs: map[string]string{
		"etcd":           "go.etcd.io/etcd/server/v3",
		"kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
		"kubectl":        "k8s.io/kubernetes/cmd/kubectl",
	},
	Expect: 10 * time.Minute, ldflags: kubernetesVersion,
}

// Node is the rest of Kubernetes that a single node runs.
var Node = Group{
	Name: "node", Wrapper: "kubernetes", Main: "k8s.io/kubernetes",
	Programs: map[string]string{
		"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
		"kube-scheduler":          "k8s.io/kubernetes/cmd/kube-scheduler",
		"kubelet":                 "k8s.io/kubernetes/cmd/kubelet",
	},
	Expect: 6 * time.Minute, ldflags: kubernetesVersion,
}

// Containerd is the container runtime. runc comes from the system: one built
// from source without libseccomp would refuse every pod that has a profile.
var Containerd = Group{
	Name: "containerd", Wrapper: "containerd", Main: "github.com/containerd/containerd/v2",
	Programs: map[string]string{
		"containerd":              "github.com/containerd/containerd/v2/cmd/containerd",
		"containerd-shim-runc-v2": "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
		"ctr":                     "github.com/containerd/containerd/v2/cmd/ctr",
	},
	Expect: 4 * time.Minute,
	tags:   []string{"no_btrfs", "no_devmapper", "no_zfs"},
	ldflags: func(version string) string {
		return "-X github.com/containerd/containerd/v2/version.Version=" + version
	},
}

// Kind is the client of kind, for machines with a Docker engine.
var Kind = Group{
	Name: "kind", Wrapper: "kind", Main: "sigs.k8s.io/kind",
	Programs: map[string]string{"kind": "sigs.k8s.io/kind"},
	Expect:   time.Minute,
}

// All lists the groups of the single node in the order in which they are built.
var All = []Group{APIServer, Node, Containerd}

// kubernetesVersion sets what the binaries report: without it they say
// v0.0.0-master and their checks of each other's version fail.
func kubernetesVersion(version string) string {
	part := strings.Split(strings.TrimPrefix(version, "v"), ".")
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags, fmt.Sprintf("-X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s",
			pkg, version, part[0], part[1]))
	}
	return strings.Join(flags, " ")
}

// version reads the version of the group's main module from its wrapper.
func (g Group) version(source string) (string, error) {
	path := filepath.Join(source, g.Wrapper, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	mod, err := modfile.Parse(path, text, nil)
	if err != nil {
		return "", err
	}
	for _, r := range mod.Require {
		if r.Mod.Path == g.Main {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", path, g.Main)
}

// folder names the group's folder in the cache: the version for people, and a
// hash of everything else that decides what is built, so that two builds never
// mix.
func (g Group) folder(source string) (string, error) {
	version, err := g.version(source)
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(source, g.Wrapper, "go.sum"))
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(append(sums, g.flags(version)...))
	return fmt.Sprintf("%s-%s-%x", g.Name, version, hash[:4]), nil
}

// flags returns the build flags as one string.
func (g Group) flags(version string) string {
	return strings.Join(g.buildFlags(version), " ")
}

func (g Group) buildFlags(version string) []string {
	ldflags := "-s -w"
	if g.ldflags != nil {
		ldflags += " " + g.ldflags(version)
	}
	return []string{"-buildvcs=false", "-tags", strings.Join(g.tags, ","), "-ldflags", ldflags}
}

// Named returns the group of that name, or all of the single node for "".
func Named(name string) ([]Group, error) {
	if name == "" {
		return All, nil
	}
	for _, g := range append(slices.Clone(All), Kind) {
		if g.Name == name {
			return []Group{g}, nil
		}
	}
	return nil, fmt.Errorf("there is no group %q of binaries: use apiserver, node, containerd or kind", name)
}
