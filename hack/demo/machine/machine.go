// Package machine looks at what this machine has of what the demo and the tests
// need, says what each missing part costs, and installs what it may.
package machine

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Part is something that may be missing.
type Part struct {
	// Name is what a person calls it.
	Name string
	// Found is what stands here of it, in a few words; empty means missing.
	Found string
	// Cost says what is lost without it.
	Cost string
	// Package is the Debian package that brings it; empty where none does.
	Package string
}

// Found is what Look found.
type Found struct {
	Parts []Part
	// Root and Debian decide whether packages can be installed.
	Root, Debian bool
	// Docker says whether an engine answers.
	Docker bool
}

// Look looks at this machine. It takes a moment, because programs are asked for
// their versions.
func Look(ctx context.Context) Found {
	f := Found{Root: os.Geteuid() == 0, Debian: has("apt-get") && has("dpkg-query")}
	docker := version(ctx, "docker", "info", "--format", "{{.ServerVersion}}")
	f.Docker = docker != "" && !strings.Contains(docker, "annot connect")
	if !f.Docker {
		docker = ""
	}
	root := ""
	if f.Root {
		root = "yes"
	}
	f.Parts = []Part{
		{Name: "root", Found: root, Cost: "no cluster of our own, hence no demo and no end-to-end test, unless Docker answers or a kubeconfig is given"},
		{Name: "Go", Found: version(ctx, "go", "version"), Cost: "nothing can be built"},
		{Name: "Java", Found: version(ctx, "java", "-version"), Package: "default-jre-headless", Cost: "an embedded broker stands in for Kafka: no replication, no measure of speed"},
		{Name: "Maven", Found: version(ctx, "mvn", "-v"), Package: "maven", Cost: "as without Java: it brings Kafka"},
		{Name: "node", Found: version(ctx, "node", "--version"), Package: "nodejs", Cost: "no npm"},
		{Name: "npm", Found: version(ctx, "npm", "--version"), Package: "npm", Cost: "no PostgreSQL 18: it brings it"},
		{Name: "Docker", Found: docker, Cost: "the cluster is built from source instead of being a kind one: about 12 minutes, once"},
		{Name: "kubeconfig", Found: kubeconfig(), Cost: "nothing: a cluster is made; CLUSTER=existing with KUBECONFIG takes yours"},
	}
	return f
}

// Print writes a line per part.
func (f Found) Print(w io.Writer) {
	for _, p := range f.Parts {
		if p.Found != "" {
			fmt.Fprintf(w, "  %-11s %s\n", p.Name, p.Found)
		} else {
			fmt.Fprintf(w, "  %-11s missing: %s\n", p.Name, p.Cost)
		}
	}
}

// Has says whether the part of that name was found.
func (f Found) Has(name string) bool {
	return slices.ContainsFunc(f.Parts, func(p Part) bool { return p.Name == name && p.Found != "" })
}

// Packages are the Debian packages that would bring what is missing.
func (f Found) Packages() []string {
	var names []string
	for _, p := range f.Parts {
		if p.Found == "" && p.Package != "" {
			names = append(names, p.Package)
		}
	}
	return names
}

// Install installs what is missing, naming it first, through install. Where it
// may not, it writes the line to run, and the caller goes on without.
func (f Found) Install(ctx context.Context, w io.Writer, install func(context.Context, []string) error) error {
	names := f.Packages()
	if len(names) == 0 {
		return nil
	}
	line := "apt-get install -y --no-install-recommends " + strings.Join(names, " ")
	switch {
	case !f.Debian:
		fmt.Fprintf(w, "Missing, and not installed on a system other than Debian's kind: what Debian calls %s.\n", strings.Join(names, ", "))
	case os.Getenv("INSTALL") == "0":
		fmt.Fprintf(w, "Missing, and INSTALL=0 forbids to install it; run: %s\n", line)
	case !f.Root:
		fmt.Fprintf(w, "Missing, and only root can install it; run: sudo %s\n", line)
	default:
		fmt.Fprintf(w, "Missing, and installed now: %s\n", strings.Join(names, ", "))
		return install(ctx, names)
	}
	return nil
}

func has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// colours are what some programs print even where nobody sees them.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// version is the first line that a program prints, or nothing where it fails.
func version(ctx context.Context, program string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return colours.ReplaceAllString(line, "")
}

func kubeconfig() string {
	if path := os.Getenv("KUBECONFIG"); path != "" && os.Getenv("CLUSTER") == "existing" {
		return path
	}
	return ""
}

// MayInstall says whether Install would install.
func (f Found) MayInstall() bool { return f.Root && f.Debian && os.Getenv("INSTALL") != "0" }
