package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBridgeConfigurationIsJSON(t *testing.T) {
	into := filepath.Join(t.TempDir(), "bridge.conflist")
	require.NoError(t, render("bridge.conflist", into, map[string]string{
		"Network": network, "Bridge": bridge, "CNIState": "/state/cni", "PodSubnet": PodSubnet, "BridgeAddress": BridgeAddress,
	}, 0o644))
	text, err := os.ReadFile(into)
	require.NoError(t, err)
	var got struct {
		Plugins []struct {
			Bridge    string
			IsGateway bool
			IPMasq    bool
		}
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, bridge, got.Plugins[0].Bridge)
	require.True(t, got.Plugins[0].IsGateway)
	require.False(t, got.Plugins[0].IPMasq, "pods stay inside the namespace")
}

func TestAMissingValueIsAnError(t *testing.T) {
	require.Error(t, render("kubelet.yaml", filepath.Join(t.TempDir(), "k"), map[string]string{}, 0o644))
}
