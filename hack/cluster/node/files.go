package node

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"golang.org/x/sys/unix"
)

//go:embed config
var configs embed.FS

var templates = template.Must(template.New("").Option("missingkey=error").ParseFS(configs, "config/*"))

// network names the CNI network; files of it on the host begin with it.
const network = "relayfleet"

// writeConfigs writes the configuration of kubelet, containerd and CNI.
func (n *Node) writeConfigs() error {
	runc, err := find("runc", "/usr/sbin", "/usr/local/sbin")
	if err != nil {
		return err
	}
	plugin, err := in("host-local", "/usr/lib/cni", "/opt/cni/bin")
	if err != nil {
		return err
	}
	values := map[string]string{
		"PKI": n.Paths.pki(""), "Config": n.Paths.config(""), "Kubelet": n.Paths.kubelet(), "PodLogs": n.Paths.podLogs(),
		"Cgroup": cgroup, "Containerd": n.Paths.containerd(), "ContainerdState": containerdState(),
		"ContainerdSocket": containerdSocket(), "PauseImage": PauseImage, "Snapshotter": snapshotter(n.Paths.State),
		"CNIPlugins": filepath.Dir(plugin), "Runc": runc, "RuncState": runcState(), "Network": network, "Bridge": bridge,
		"CNIState": n.Paths.cniState(), "PodSubnet": PodSubnet, "BridgeAddress": BridgeAddress,
	}
	for file, into := range map[string]string{
		"kubelet.yaml":    "kubelet.yaml",
		"containerd.toml": "containerd.toml",
		"bridge.conflist": "cni/10-bridge.conflist",
		"resolv.conf":     "resolv.conf",
	} {
		if err := render(file, n.Paths.config(into), values, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func render(name, into string, values map[string]string, mode os.FileMode) error {
	var text strings.Builder
	if err := templates.ExecuteTemplate(&text, name, values); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	return os.WriteFile(into, []byte(text.String()), mode)
}

// find looks for a program on the PATH and in folders that a PATH often lacks.
func find(program string, folders ...string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	return in(program, folders...)
}

// in looks for a program in folders alone: iproute2 has a "bridge" too.
func in(program string, folders ...string) (string, error) {
	for _, folder := range folders {
		if path := filepath.Join(folder, program); exists(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed (looked in %s)", program, strings.Join(folders, ", "))
}

// overlayMagic is the kernel's number for a file system of type overlay.
const overlayMagic = 0x794c7630

// snapshotter is overlayfs, except on top of another overlay (a container's own
// root), which the kernel refuses.
func snapshotter(folder string) string {
	var fs unix.Statfs_t
	if unix.Statfs(folder, &fs) == nil && fs.Type == overlayMagic {
		return "native"
	}
	return "overlayfs"
}
