package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/settings"
)

func TestWhatATableCannotRecordIsNamed(t *testing.T) {
	for preset, want := range map[settings.Preset][]string{
		settings.PresetRelayfleet:  nil,
		settings.PresetLab:         {"attempts", "failed", "age", "token"},
		settings.PresetStatusCodes: nil,
		settings.PresetToken:       nil,
		settings.PresetDebezium:    {"age"},
	} {
		got, err := Limits(settings.Settings{Mapping: settings.Mapping{Preset: preset}})
		require.NoError(t, err)
		require.Equal(t, want, got, preset)
	}
	without := settings.Mapping{Preset: settings.PresetRelayfleet, Columns: settings.Columns{Attempts: new("")}}
	got, err := Limits(settings.Settings{Mapping: without})
	require.NoError(t, err)
	require.Equal(t, []string{"attempts"}, got)
}
