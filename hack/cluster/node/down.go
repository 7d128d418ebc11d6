package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relayfleet/relayfleet/hack/cluster/progress"
)

// Down ends the node and removes everything but the built binaries. With force
// it also ends the node of another checkout.
func (n *Node) Down(ctx context.Context, force bool) error {
	unlock, err := lockMachine(n.Checkout)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := readOwner()
	if err != nil && !force {
		return err
	}
	if err := before.refuseOther(n.Checkout); err != nil && !force {
		return err
	}
	if before == nil && !leftovers(n.Paths.State) {
		n.Steps.Say("No cluster runs.")
		return removeRunDir()
	}
	return n.Steps.Run(ctx, progress.Step{
		Name: "Stop the node and remove all of it", Expect: 15 * time.Second,
		Advice: "run the same command again",
		Do:     func(ctx context.Context, _ *progress.At) error { return removeAll(ctx, before, n.Paths) },
	})
}

// leftovers says whether anything of a node is here without a record of it.
func leftovers(state string) bool {
	return exists(state) || exists(namespaceFile()) || exists("/sys/class/net/"+hostLink)
}

// removeAll ends every process of a node and removes what it mounted, named and
// wrote. It goes on after a failure, so that a second call has less to do.
func removeAll(ctx context.Context, o *owner, paths Paths) error {
	if o == nil {
		o = &owner{State: paths.State}
	}
	endProcesses(ctx, o)
	folders := []string{o.State, paths.State, runDir}
	failed := []error{
		unmountAll(folders...),
		removeCgroups(),
		removeNetwork(ctx),
		restoreKernel(o.Kernel),
		removeRunDir(),
	}
	removeFromHost(folders)
	if err := errors.Join(failed...); err != nil {
		return err // what is still mounted must not be deleted
	}
	return errors.Join(os.RemoveAll(o.State), os.RemoveAll(paths.State))
}

// endProcesses ends the node's own programs and pods at once, the kubelet first,
// which would restart what is killed. What others have started in the network
// namespace (a database, a broker) may end by itself: the namespace goes, and
// they would be lost in it.
func endProcesses(ctx context.Context, o *owner) {
	for _, p := range o.Processes {
		if p.Name == "kubelet" && p.alive() {
			end(ctx, []int{p.PID}, 0)
		}
	}
	if id := inode(namespaceFile()); id != 0 {
		o.NamespaceInode = id
	}
	until(ctx, 10*time.Second, func() bool { // again for what was started meanwhile
		own := slices.DeleteFunc(ours(o.NamespaceInode), func(pid int) bool { return !inCgroup(pid) && !runs(pid, o.Binaries) })
		signalAll(own, unix.SIGKILL)
		return len(own) == 0
	})
	if others := ours(o.NamespaceInode); len(others) > 0 {
		end(ctx, others, 10*time.Second)
	}
}

// removeFromHost removes what components write at fixed places of the host. The
// places may belong to another containerd as well: only what is ours goes, and
// the folders when they are empty.
func removeFromHost(folders []string) {
	removeMatching("/var/log/containers/*", func(path string) bool {
		target, err := os.Readlink(path)
		return err == nil && withinAny(target, folders)
	})
	removeMatching("/var/lib/cni/results/"+network+"-*", func(string) bool { return true })
	removeMatching("/run/containerd/s/*", deadSocket)
	removeMatching("/var/lib/kubelet/device-plugins/kubelet.sock", deadSocket)
	for _, folder := range []string{
		"/var/log/containers", "/var/lib/cni/results", "/var/lib/cni/cache", "/var/lib/cni",
		"/run/containerd/s", "/run/containerd", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet",
	} {
		_ = os.Remove(folder) // fails, as it should, when it is not empty
	}
}

func removeMatching(pattern string, remove func(path string) bool) {
	paths, _ := filepath.Glob(pattern)
	for _, path := range paths {
		if remove(path) {
			_ = os.Remove(path)
		}
	}
}

func withinAny(path string, folders []string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}

// deadSocket says whether nobody listens at a socket any more. A container shim
// puts its socket at a fixed place whatever containerd's own folders are.
func deadSocket(path string) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return errors.Is(unix.Connect(fd, &unix.SockaddrUnix{Name: path}), unix.ECONNREFUSED)
}
