package binaries

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// source is hack/cluster, where the wrapper modules are.
const source = ".."

func TestEveryWrapperHoldsItsPrograms(t *testing.T) {
	for _, g := range append(All, Kind) {
		version, err := g.version(source)
		require.NoError(t, err)
		require.Regexp(t, `^v\d+\.\d+\.\d+$`, version)
		mod, err := os.ReadFile(filepath.Join(source, g.Wrapper, "go.mod"))
		require.NoError(t, err)
		for _, pkg := range g.packages() {
			require.Contains(t, string(mod), pkg, "go mod tidy would drop what no tool line names")
		}
	}
}

func TestFolderChangesWithWhatIsBuilt(t *testing.T) {
	copied := t.TempDir()
	wrapper := filepath.Join(copied, APIServer.Wrapper)
	require.NoError(t, os.MkdirAll(wrapper, 0o755))
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(source, APIServer.Wrapper, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(wrapper, name), text, 0o644))
	}
	before, err := APIServer.folder(copied)
	require.NoError(t, err)
	require.Regexp(t, `^apiserver-v\d+\.\d+\.\d+-[0-9a-f]{8}$`, before)

	sums, err := os.OpenFile(filepath.Join(wrapper, "go.sum"), os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = sums.WriteString("example.org/new v1.0.0 h1:=\n")
	require.NoError(t, err)
	require.NoError(t, sums.Close())
	after, err := APIServer.folder(copied)
	require.NoError(t, err)
	require.NotEqual(t, before, after)
}

func TestKubernetesReportsItsVersion(t *testing.T) {
	flags := kubernetesVersion("v1.37.2")
	require.Contains(t, flags, "-X k8s.io/component-base/version.gitVersion=v1.37.2")
	require.Contains(t, flags, "-X k8s.io/component-base/version.gitMajor=1")
	require.Contains(t, flags, "-X k8s.io/component-base/version.gitMinor=37")
}

func TestSettleNames(t *testing.T) {
	folder := t.TempDir()
	for _, built := range []string{"server", "kube-apiserver", "kubectl"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, built), nil, 0o755))
	}
	require.NoError(t, APIServer.settleNames(folder))
	require.FileExists(t, filepath.Join(folder, "etcd"), "a package that ends in its major version")

	require.NoError(t, os.Remove(filepath.Join(folder, "kubectl")))
	require.ErrorContains(t, APIServer.settleNames(folder), "was not built")
}

func TestNamed(t *testing.T) {
	all, err := Named("")
	require.NoError(t, err)
	require.Len(t, all, 3)
	one, err := Named("apiserver")
	require.NoError(t, err)
	require.Equal(t, "apiserver", one[0].Name)
	_, err = Named("docker")
	require.ErrorContains(t, err, "use apiserver, node, containerd or kind")
}
