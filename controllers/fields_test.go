package controllers

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/relayfleet/relayfleet/controllers/scaling"
)

// The reference has a line for every field of the CRD, and none for others.
func TestTheReferenceHasEveryField(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, k kind) {
		t.Helper()
		schema := k.schema(t)
		require.ElementsMatch(t, fieldsOf(schema.Properties["spec"], ""), documented(t, k.spec))
		require.ElementsMatch(t, fieldsOf(schema.Properties["status"], ""), documented(t, k.status))
	})
}

func fieldsOf(schema apiextensionsv1.JSONSchemaProps, prefix string) []string {
	var fields []string
	for name, property := range schema.Properties {
		fields = append(fields, prefix+name)
		if property.Items != nil && name != "conditions" {
			property = *property.Items.Schema
		}
		fields = append(fields, fieldsOf(property, prefix+name+".")...)
	}
	return fields
}

func reference(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../docs/reference/fields.md")
	require.NoError(t, err)
	return string(data)
}

func documented(t *testing.T, part string) []string {
	t.Helper()
	_, section, found := strings.Cut(reference(t), "\n## "+part+"\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n##")
	var fields []string
	for line := range strings.Lines(section) {
		if name, isField := strings.CutPrefix(line, "| `"); isField {
			name, _, _ = strings.Cut(name, "`")
			fields = append(fields, name)
		}
	}
	return fields
}

func TestTheReferenceHasEveryReason(t *testing.T) {
	t.Parallel()
	text := reference(t)
	for _, reason := range []scaling.Reason{
		scaling.SampleUnavailable, scaling.BrokerUnavailable, scaling.DatabaseUnavailable, scaling.RelaysNotReady,
		scaling.Cooldown, scaling.HistoryIncomplete, scaling.Stabilizing, scaling.WithinTarget,
		scaling.BacklogOverTarget, scaling.BacklogLow, scaling.WithinBounds,
		scaling.Suspended, scaling.Manual,
	} {
		require.Contains(t, text, "| "+string(reason)+" |")
	}
	for _, reason := range []string{
		reasonRelaysRunning, reasonRelaysNotReady, reasonRolloutInProgress, reasonRetrying, reasonNotReported, reasonReachable,
		reasonValid, reasonSampled, reasonWaitingForRelays, reasonNoRelayAnswers, reasonTableNotSampled, reasonForeignObject,
		reasonChildRejected, reasonSettingsInvalid, reasonChildTerminating, reasonPodMonitorUnknown, reasonSuspended,
		reasonSuspending, reasonManual, reasonFollowingBacklog, reasonWithinLimits, reasonWithinTarget, reasonBacklogOverTarget,
		reasonTooManyRows, reasonTableTooLarge, reasonCountingStops, reasonNoFailedEvents, reasonEventsFailed, reasonNotRecorded,
	} {
		require.Regexp(t, `\b`+reason+`\b`, text)
	}
	for code, a := range databaseAdvice {
		require.Contains(t, text, a.reason, code)
	}
	for code, a := range schemaAdvice {
		require.Contains(t, text, a.reason, code)
	}
	for code, a := range brokerAdvice {
		require.Contains(t, text, a.reason, code)
	}
}
