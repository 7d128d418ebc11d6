package service

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// ErrNotFound says that no service of that name has been started.
var ErrNotFound = errors.New("no such service")

const (
	stateFile = "state.json"
	ownerFile = "owner.json"
)

var nameRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// Instance is the folder of one named service.
type Instance struct {
	// Dir holds everything that the service has on disk; Remove deletes it.
	Dir string
	// Kind and Name are as given to OpenInstance.
	Kind, Name string
}

// OpenInstance names the folder of a service; it makes nothing. A name has lower-case letters, digits and hyphens, 40 at
// most.
func OpenInstance(kind, name string) (Instance, error) {
	if !nameRule.MatchString(name) {
		return Instance{}, fmt.Errorf("name %q: want up to 40 lower-case letters, digits and hyphens, not at an end", name)
	}
	cache, err := CacheDir()
	if err != nil {
		return Instance{}, err
	}
	return Instance{Dir: filepath.Join(cache, "run", kind, name), Kind: kind, Name: name}, nil
}

// TemporaryName is a name that no other instance has.
func TemporaryName() string { return "test-" + strings.ToLower(rand.Text()[:12]) }

// Lock makes the folder and keeps every other command from changing this service until unlock is called.
func (i Instance) Lock(ctx context.Context) (unlock func(), err error) {
	return lockDir(ctx, i.Dir)
}

// Path joins the folder and the parts.
func (i Instance) Path(parts ...string) string {
	return filepath.Join(append([]string{i.Dir}, parts...)...)
}

// Clear removes what is in the folder and keeps the folder, whose lock somebody holds.
func (i Instance) Clear() error {
	entries, err := os.ReadDir(i.Dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.RemoveAll(i.Path(entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Remove deletes the folder.
func (i Instance) Remove() error { return os.RemoveAll(i.Dir) }

// Own records that this service belongs to the calling process: once that has ended, Abandoned reports the service.
func (i Instance) Own() error {
	self, err := Find(os.Getpid())
	if err != nil {
		return err
	}
	return i.write(ownerFile, self)
}

// SaveState records state, which may hold passwords, readable by the owner alone. A reader sees the old or the new one.
func (i Instance) SaveState(state any) error { return i.write(stateFile, state) }

// LoadState reads what SaveState recorded; ErrNotFound when nothing was.
func (i Instance) LoadState(state any) error {
	text, err := os.ReadFile(i.Path(stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s %q: %w", i.Kind, i.Name, ErrNotFound)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, state); err != nil {
		return fmt.Errorf("read %s: %w", i.Path(stateFile), err)
	}
	return nil
}

func (i Instance) write(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	next := i.Path(name + ".next")
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, i.Path(name))
}

// Abandoned lists the services of a kind whose owning process has ended without removing them.
func Abandoned(kind string) ([]Instance, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	owners, err := filepath.Glob(filepath.Join(cache, "run", kind, "*", ownerFile))
	if err != nil {
		return nil, err
	}
	var found []Instance
	for _, file := range owners {
		var owner Process
		text, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(text, &owner) != nil || owner.Alive() {
			continue
		}
		dir := filepath.Dir(file)
		found = append(found, Instance{Dir: dir, Kind: kind, Name: filepath.Base(dir)})
	}
	return found, nil
}
