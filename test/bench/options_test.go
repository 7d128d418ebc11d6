package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/settings"
)

func TestTheEnvironmentsWishes(t *testing.T) {
	o, err := readOptions()
	require.NoError(t, err)
	require.Equal(t, options{events: 200_000, runs: 1, rate: 1000, seconds: 60}, o)

	t.Setenv("BENCH", heldXmin)
	o, err = readOptions()
	require.NoError(t, err)
	require.Equal(t, 3000, o.rate)

	t.Setenv("BENCH", "histories")
	_, err = readOptions()
	require.ErrorContains(t, err, "BENCH=histories")

	t.Setenv("BENCH", "")
	t.Setenv("BENCH_RUNS", "0")
	t.Setenv("BENCH_RATE", "many")
	_, err = readOptions()
	require.ErrorContains(t, err, "BENCH_RUNS=0")
	require.ErrorContains(t, err, "BENCH_RATE=many")
}

func TestATableOfTheUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "relay.yaml")
	require.NoError(t, os.WriteFile(file, []byte("topic: a\nmapping: {preset: Lab}\nkafka: {bootstrapServers: [x:1]}\n"), 0o600))
	t.Setenv("BENCH_SETTINGS", file)
	t.Setenv("BENCH_URI_FILE", "/secret/uri")
	t.Setenv("BENCH_TABLE", "shop.events")
	t.Setenv("BENCH_TOPIC", "b")
	o, err := readOptions()
	require.NoError(t, err)
	require.Equal(t, settings.PresetLab, o.yours.Mapping.Preset)
	require.Equal(t, settings.Table{Schema: "shop", Name: "events"}, o.yours.Table)
	require.Equal(t, "b", o.yours.Topic)
	require.Equal(t, "/secret/uri", o.yours.Database.URIFile)
	require.Equal(t, []string{"x:1"}, o.yours.Kafka.BootstrapServers)
}
