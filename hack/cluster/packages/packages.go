// Package packages installs the Debian packages that a target needs, naming
// them first.
package packages

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/relayfleet/relayfleet/hack/cluster/progress"
)

// System is the machine as the installer sees it.
type System struct {
	Root bool
	// Debian says whether dpkg and apt-get are there.
	Debian bool
	// Forbidden is INSTALL=0: name the line to run, install nothing.
	Forbidden bool
}

// Detect looks at this machine and its environment.
func Detect() System {
	_, dpkg := exec.LookPath("dpkg-query")
	_, apt := exec.LookPath("apt-get")
	return System{
		Root:      os.Geteuid() == 0,
		Debian:    dpkg == nil && apt == nil,
		Forbidden: os.Getenv("INSTALL") == "0",
	}
}

// Ensure installs those of names that are missing. Where it may not or cannot,
// its error is the sentence that names the line to run.
func Ensure(ctx context.Context, steps *progress.Steps, log string, names ...string) error {
	system := Detect()
	if !system.Debian {
		return nil // the programs themselves are looked for where they are used
	}
	missing, err := Missing(ctx, names)
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := system.refuse(missing); err != nil {
		return err
	}
	return steps.Run(ctx, progress.Step{
		Name:   "Install the system packages " + strings.Join(missing, ", "),
		Expect: time.Minute,
		Log:    log,
		Advice: "run by hand: " + Line(missing),
		Do: func(ctx context.Context, _ *progress.At) error {
			return install(ctx, log, missing)
		},
	})
}

// refuse returns why the missing packages are not installed, or nil.
func (s System) refuse(missing []string) error {
	switch {
	case s.Forbidden:
		return fmt.Errorf("missing system packages, and INSTALL=0 forbids to install them; run: %s", Line(missing))
	case !s.Root:
		return fmt.Errorf("missing system packages, and only root can install them; run: sudo %s", Line(missing))
	default:
		return nil
	}
}

// Line is the command that installs names.
func Line(names []string) string {
	return "apt-get install -y --no-install-recommends " + strings.Join(names, " ")
}

// Missing returns those of names that dpkg does not know as installed.
func Missing(ctx context.Context, names []string) ([]string, error) {
	args := slices.Concat([]string{"-W", "-f", "${Package} ${Status}\n"}, names)
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "dpkg-query", args...)
	cmd.Stdout = &out
	// A package that dpkg never heard of makes it exit with 1; the list is right.
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		return nil, fmt.Errorf("ask dpkg-query which packages are installed: %w", err)
	}
	return without(names, out.String()), nil
}

// without drops the names that dpkg-query's listing shows as installed.
func without(names []string, listing string) []string {
	var missing []string
	for _, name := range names {
		if !strings.Contains("\n"+listing, "\n"+name+" install ok installed\n") {
			missing = append(missing, name)
		}
	}
	return missing
}

// install updates the package lists only when the installation fails without:
// they are often fresh, and an update costs more than the rest.
func install(ctx context.Context, log string, names []string) error {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return err
	}
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	apt := func(args ...string) error {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = out, out
		return cmd.Run()
	}
	args := slices.Concat([]string{"install", "-y", "--no-install-recommends"}, names)
	if apt(args...) == nil {
		return nil
	}
	if err := apt("update"); err != nil {
		return fmt.Errorf("apt-get update: %w", err)
	}
	return apt(args...)
}
