package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func testNode(t *testing.T) *Node {
	t.Helper()
	n := &Node{
		Checkout: "/src/relayfleet", Paths: Paths{State: filepath.Join(t.TempDir(), "cluster")},
		Binaries: Binaries{APIServer: "/bin/a", Node: "/bin/n", Containerd: "/bin/c"},
	}
	for _, dir := range []string{n.Paths.pki(""), n.Paths.config("cni")} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	return n
}

func TestCommandLines(t *testing.T) {
	n := testNode(t)
	api := n.apiServer()
	require.Equal(t, "/bin/a/kube-apiserver", api.program)
	require.Contains(t, api.args, "--advertise-address=10.250.0.2")
	require.Contains(t, api.args, "--secure-port=443")
	require.Contains(t, api.args, "--kubelet-preferred-address-types=InternalIP", "kubectl logs needs an address")
	require.Contains(t, n.etcd().args, "--listen-client-urls=http://127.0.0.1:2379", "no other namespace reaches etcd")
	require.Equal(t, "/bin/n/kubelet", n.kubelet().program)
	require.Contains(t, n.kubelet().args, "--root-dir="+n.Paths.kubelet())
	require.Equal(t, "/bin/c/containerd", n.containerd().program)
}

// A credential or setting that a command line names and nobody writes shows
// only minutes later, as a component that ends.
func TestEveryFileOfACommandLineIsWritten(t *testing.T) {
	n := testNode(t)
	require.NoError(t, n.writeCredentials())
	for _, c := range []component{n.apiServer(), n.controllerManager(), n.scheduler()} {
		for _, arg := range c.args {
			if path := argPath(arg, n.Paths.State); path != "" {
				require.FileExists(t, path, "%s %s", c.name, arg)
			}
		}
	}
}

func argPath(arg, state string) string {
	for i := range arg {
		if arg[i] == '=' && within(arg[i+1:], state) {
			return arg[i+1:]
		}
	}
	return ""
}

func TestTheKubeconfigIsForItsOwnerOnly(t *testing.T) {
	n := testNode(t)
	require.NoError(t, n.writeCredentials())
	info, err := os.Stat(n.Paths.Kubeconfig())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(n.Paths.Kubeconfig())
	require.NoError(t, err)
	require.Contains(t, string(text), "server: https://10.250.0.2:443")
}
