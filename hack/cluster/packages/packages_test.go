package packages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithout(t *testing.T) {
	listing := "runc install ok installed\nbuildah deinstall ok config-files\n"
	require.Equal(t, []string{"buildah", "never-heard-of"},
		without([]string{"runc", "buildah", "never-heard-of"}, listing),
		"a package that was removed but not purged is missing")
	require.Equal(t, []string{"run"}, without([]string{"run"}, listing), "a prefix of a name is another package")
}

func TestRefusalsNameTheLine(t *testing.T) {
	line := "apt-get install -y --no-install-recommends runc buildah"
	missing := []string{"runc", "buildah"}
	require.NoError(t, System{Root: true, Debian: true}.refuse(missing))
	require.ErrorContains(t, System{Root: true, Debian: true, Forbidden: true}.refuse(missing), "INSTALL=0 forbids to install them; run: "+line)
	require.ErrorContains(t, System{Debian: true}.refuse(missing), "run: sudo "+line)
}
