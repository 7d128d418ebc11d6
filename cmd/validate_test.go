package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/resources"
)

// validate runs the command over a file of that content.
func validate(t *testing.T, content []byte) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	command := newValidate()
	command.SetArgs([]string{file})
	command.SilenceErrors, command.SilenceUsage = true, true
	return command.Execute()
}

// The relay takes what the operator writes for a sample.
func TestEverySampleIsValid(t *testing.T) {
	files, err := filepath.Glob("../config/samples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var sample v1alpha1.OutboxRelay
		require.NoError(t, yaml.UnmarshalStrict(data, &sample), file)
		rendered, err := resources.RenderSettings(&sample)
		require.NoError(t, err, file)
		require.NoError(t, validate(t, rendered.Content), file)
	}
}

func TestAMappingThatContradictsItselfIsInvalid(t *testing.T) {
	const start = "version: 1\nfleet: {}\ntable: {schema: public, name: outbox}\ntopic: t\n" +
		"database: {uriFile: /uri}\nkafka: {bootstrapServers: [\"kafka:9092\"]}\n"
	require.NoError(t, validate(t, []byte(start)))
	require.ErrorContains(t, validate(t, []byte(start+"mapping: {statuses: {sent: READY}}")), `mapping.statuses: ready and sent are both "READY"`)
	require.ErrorContains(t, validate(t, []byte(start+"mapping: {columns: {attempts: lease_until}}")), `are both "lease_until"`)
	require.ErrorContains(t, validate(t, []byte(start+"mapping: {columns: {id: ''}}")), "mapping.columns.id")
	require.ErrorContains(t, validate(t, []byte(start+"retention: {policy: Delete, statuses: [FAILED]}")),
		`retention.statuses: rows with status "FAILED" are not done and must not be deleted`)
}
