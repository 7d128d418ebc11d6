package node

import (
	"os"
	"path/filepath"
)

// runDir holds what ties a node to this machine and this boot: owner, lock,
// sockets. One machine has one, whatever the cache folders of its users are.
const runDir = "/run/relayfleet"

// cgroup is the parent of every pod's cgroup.
const cgroup = "relayfleet"

// Paths is where a node keeps its files. State is gone after a stop.
type Paths struct{ State string }

// Kubeconfig is the administrator's.
func (p Paths) Kubeconfig() string          { return filepath.Join(p.State, "kubeconfig") }
func (p Paths) log(component string) string { return filepath.Join(p.Logs(), component+".log") }

// Logs holds a file per component.
func (p Paths) Logs() string { return filepath.Join(p.State, "logs") }

func (p Paths) pki(name string) string    { return filepath.Join(p.State, "pki", name) }
func (p Paths) config(name string) string { return filepath.Join(p.State, "config", name) }
func (p Paths) etcd() string              { return filepath.Join(p.State, "etcd") }
func (p Paths) kubelet() string           { return filepath.Join(p.State, "kubelet") }
func (p Paths) podLogs() string           { return filepath.Join(p.State, "pod-logs") }
func (p Paths) containerd() string        { return filepath.Join(p.State, "containerd") }
func (p Paths) cniState() string          { return filepath.Join(p.State, "cni") }
func (p Paths) pauseArchive() string      { return filepath.Join(p.State, "pause.tar") }

func containerdSocket() string { return filepath.Join(runDir, "containerd.sock") }
func containerdState() string  { return filepath.Join(runDir, "containerd") }
func runcState() string        { return filepath.Join(runDir, "runc") }
func ownerFile() string        { return filepath.Join(runDir, "owner.json") }
func lockFile() string         { return filepath.Join(runDir, "lock") }
func namespaceFile() string    { return filepath.Join("/run/netns", Namespace) }

func (p Paths) create() error {
	for _, dir := range []string{p.Logs(), p.pki(""), p.config("cni"), p.etcd(), p.kubelet(), p.podLogs()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return os.MkdirAll(runDir, 0o755)
}
