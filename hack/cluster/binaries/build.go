package binaries

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/relayfleet/relayfleet/hack/cluster/progress"
)

// Builder makes groups of binaries and keeps them.
type Builder struct {
	// Source is the folder that holds the wrapper modules.
	Source string
	// Cache is the cache folder; the binaries stand in its bin/.
	Cache string
	Steps *progress.Steps
}

// Folder returns where the binaries of a group are, built or not.
func (b *Builder) Folder(g Group) (string, error) {
	name, err := g.folder(b.Source)
	if err != nil {
		return "", fmt.Errorf("name the folder of %s: %w", g.Name, err)
	}
	return filepath.Join(b.Cache, "bin", name), nil
}

// Build makes a group unless it is there and returns its folder. A folder is
// there only when the whole build succeeded: it is renamed into place.
func (b *Builder) Build(ctx context.Context, g Group) (string, error) {
	folder, err := b.Folder(g)
	if err != nil || exists(folder) {
		return folder, err
	}
	log := filepath.Join(b.Cache, "bin", g.Name+".log")
	return folder, b.Steps.Run(ctx, progress.Step{
		Name:   "Build " + strings.Join(g.names(), ", "),
		Expect: g.Expect,
		Log:    log,
		Advice: "mend what the log names (often the network or GOPROXY) and run the same command again; compiled packages are kept",
		Do: func(ctx context.Context, at *progress.At) error {
			return b.build(ctx, g, folder, log, at)
		},
	})
}

func (b *Builder) build(ctx context.Context, g Group, folder, log string, at *progress.At) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(filepath.Dir(folder), ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if exists(folder) { // another process has built it meanwhile
		return nil
	}
	partial := folder + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := b.compile(ctx, g, partial, log, at); err != nil {
		return err
	}
	if err := g.settleNames(partial); err != nil {
		return err
	}
	return os.Rename(partial, folder)
}

func (b *Builder) compile(ctx context.Context, g Group, into, log string, at *progress.At) error {
	version, err := g.version(b.Source)
	if err != nil {
		return err
	}
	flags := g.buildFlags(version)
	if stale, err := b.stale(ctx, g, flags); err == nil {
		at.Of(stale, "packages")
	}
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	args := slices.Concat([]string{"build", "-v", "-o", into + "/"}, flags, g.packages())
	cmd := b.command(ctx, g, args)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(out, lines.Text())
		at.Done() // go build -v names each package as it compiles it
	}
	return cmd.Wait()
}

// stale counts the packages that a build would compile.
func (b *Builder) stale(ctx context.Context, g Group, flags []string) (int, error) {
	args := slices.Concat([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, flags, g.packages())
	out, err := b.command(ctx, g, args).Output()
	return len(strings.Fields(string(out))), err
}

// command runs go at a lower priority: a build of minutes should leave the
// machine usable.
func (b *Builder) command(ctx context.Context, g Group, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nice", slices.Concat([]string{"-n", "5", "go"}, args)...)
	cmd.Dir = filepath.Join(b.Source, g.Wrapper)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	return cmd
}

func (g Group) names() []string {
	var names []string
	for name := range g.Programs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (g Group) packages() []string {
	var packages []string
	for _, name := range g.names() {
		packages = append(packages, g.Programs[name])
	}
	return packages
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// settleNames gives programs the names that they are known by: go build names
// etcd "server" after its package.
func (g Group) settleNames(folder string) error {
	for name, pkg := range g.Programs {
		built := path.Base(pkg)
		if majorVersion.MatchString(built) {
			built = path.Base(path.Dir(pkg))
		}
		if err := os.Rename(filepath.Join(folder, built), filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("%s was not built: %w", name, err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// lock waits for an exclusive lock that ends with the process at the latest.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
