package node

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	waitBound = 30 * time.Second
	pollEvery = 20 * time.Millisecond
)

func TestOnlyDeadSocketsAreDead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.False(t, deadSocket(path), "another containerd may be behind it")
	require.NoError(t, l.Close())
	require.True(t, deadSocket(path))
	require.False(t, deadSocket(path+".none"))
}

func TestWithin(t *testing.T) {
	require.True(t, within("/run/relayfleet", "/run/relayfleet"))
	require.True(t, within("/run/relayfleet/x", "/run/relayfleet"))
	require.False(t, within("/run/relayfleet2", "/run/relayfleet"))
}

func TestMountPointsAreUnescaped(t *testing.T) {
	require.Equal(t, "/a b\tc", unescape(`/a\040b\011c`))
}

func TestRemoveTreeRemovesFoldersOnly(t *testing.T) {
	top := filepath.Join(t.TempDir(), "relayfleet")
	require.NoError(t, os.MkdirAll(filepath.Join(top, "pods", "one"), 0o755))
	require.NoError(t, removeTree(top))
	require.NoDirExists(t, top)
	require.NoError(t, removeTree(top), "what is gone stays gone")

	require.NoError(t, os.MkdirAll(top, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(top, "file"), nil, 0o644))
	require.Error(t, removeTree(top), "a folder with files is no cgroup")
}
