package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// owner records whose node runs on this machine and everything that is needed
// to clear it, also when it was killed half way.
type owner struct {
	// Checkout is the folder of the repository that started it.
	Checkout string `json:"checkout"`
	// State is Paths.State of that start.
	State string `json:"state"`
	// Binaries are the folders that its programs came from.
	Binaries []string `json:"binaries"`
	// Processes are the components that were started.
	Processes []process `json:"processes"`
	// NamespaceInode finds processes of the network namespace even when somebody
	// has deleted its name.
	NamespaceInode uint64 `json:"namespaceInode"`
	// Kernel are the settings that the kubelet changes, as they were before.
	Kernel map[string]string `json:"kernel"`
	// Ready says that the start went through.
	Ready bool `json:"ready"`
}

// readOwner returns nil where no node is recorded.
func readOwner() (*owner, error) {
	text, err := os.ReadFile(ownerFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var o owner
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", ownerFile(), err)
	}
	return &o, nil
}

func (o *owner) write() error {
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	partial := ownerFile() + ".partial"
	if err := os.WriteFile(partial, text, 0o644); err != nil {
		return err
	}
	return os.Rename(partial, ownerFile())
}

// alive says whether any of the recorded components runs.
func (o *owner) alive() bool {
	for _, p := range o.Processes {
		if p.alive() {
			return true
		}
	}
	return false
}

// whole says whether all of them run.
func (o *owner) whole() bool {
	for _, p := range o.Processes {
		if !p.alive() {
			return false
		}
	}
	return o.Ready
}

// refuseOther returns the sentence for a checkout that is not the owner of what
// runs, or nil.
func (o *owner) refuseOther(checkout string) error {
	if o == nil || o.Checkout == checkout || !o.alive() {
		return nil
	}
	return fmt.Errorf("one machine runs one cluster, and the checkout %s runs it: stop that one first "+
		"(make cluster-down there, or down --force here when that checkout is gone)", o.Checkout)
}

// lockMachine makes this process the only one that starts or stops a node. It
// does not wait: two starts at once are a mistake, and a stop would undo the
// start that it waited for.
func lockMachine(checkout string) (unlock func(), err error) {
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(lockFile(), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(lockFile())
		f.Close()
		return nil, fmt.Errorf("another start or stop of the cluster is under way (%s): wait for it to end", holder)
	}
	if !sameFile(f, lockFile()) { // a stop has just removed it
		f.Close()
		return lockMachine(checkout)
	}
	_ = f.Truncate(0)
	_, _ = fmt.Fprintf(f, "process %d of %s", os.Getpid(), checkout)
	return func() { f.Close() }, nil
}

func sameFile(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}

func inode(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// removeRunDir forgets the node. The lock goes last, while it is still held.
func removeRunDir() error {
	entries, err := os.ReadDir(runDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if path := filepath.Join(runDir, e.Name()); path != lockFile() {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(runDir)
}
