package controllers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

// replay is a valid OutboxReplay.
func replay(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(`
metadata: {name: after-the-outage}
spec:
  relay: {name: orders}
  selection: {failedBefore: "2026-12-01T10:00:00Z"}
  reason: the consumer's bug is mended
  requestedBy: the payments team
`), &object.Object))
	object.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("OutboxReplay"))
	object.SetNamespace(namespace)
	return object
}

func invalidReplays(t *testing.T) []invalid {
	t.Helper()
	spec := func(value any, path ...string) func(map[string]any) {
		return set(t, value, append([]string{"spec"}, path...)...)
	}
	return []invalid{
		{name: "name too long", change: set(t, strings.Repeat("a", 51), "metadata", "name"), want: "use at most 50 characters"},
		{name: "name with a dot", change: set(t, "a.b", "metadata", "name"), want: "'-' in place of '.'"},
		{name: "no relay", change: spec(nil, "relay"), want: "spec.relay: Required value"},
		{name: "relay elsewhere", change: spec("other/orders", "relay", "name"), want: "write the name of an object in this namespace"},
		{name: "no selection", change: spec(nil, "selection"), want: "spec.selection: Required value"},
		{name: "failed at any time", change: spec(object(), "selection"), want: "failedBefore: Required value"},
		{name: "failed before a word", change: spec("yesterday", "selection", "failedBefore"), want: "must be of type date-time"},
		{name: "no ids", change: spec([]any{}, "selection", "ids"), want: "should have at least 1 items"},
		{name: "an id twice", change: spec([]any{"1", "1"}, "selection", "ids"), want: "Duplicate value"},
		{name: "an id as a number", change: spec([]any{int64(1)}, "selection", "ids"), want: "must be of type string"},
		{name: "an empty key", change: spec([]any{""}, "selection", "keys"), want: "should be at least 1 chars long"},
		{name: "an empty pattern", change: spec("", "selection", "errorPattern"), want: "should be at least 1 chars long"},
		{name: "limit of nothing", change: spec(int64(0), "selection", "limit"), want: "greater than or equal to 1"},
		{name: "no reason", change: spec(nil, "reason"), want: "spec.reason: Required value"},
		{name: "an empty reason", change: spec("", "reason"), want: "should be at least 1 chars long"},
		{name: "nobody wants it", change: spec(nil, "requestedBy"), want: "spec.requestedBy: Required value"},
		{name: "no speed", change: spec(int64(0), "rowsPerSecond"), want: "greater than or equal to 1"},
		{name: "no time", change: spec(int64(59), "activeDeadlineSeconds"), want: "greater than or equal to 60"},
		{name: "execute in words", change: spec("yes", "execute"), want: "must be of type boolean"},
		{name: "field that is not there", change: spec(true, "force"), want: `unknown field "spec.force"`},
	}
}

// invalidReplayChanges are refused of an object that is there and has execute: true.
func invalidReplayChanges(t *testing.T) []invalid {
	t.Helper()
	spec := func(value any, path ...string) func(map[string]any) {
		return set(t, value, append([]string{"spec"}, path...)...)
	}
	return []invalid{
		{name: "another relay", change: spec("payments", "relay", "name"), want: "write another OutboxReplay"},
		{name: "another selection", change: spec(int64(5), "selection", "limit"), want: "write another OutboxReplay"},
		{name: "another reason", change: spec("b", "reason"), want: "write another OutboxReplay"},
		{name: "somebody else", change: spec("b", "requestedBy"), want: "write another OutboxReplay"},
		{name: "of what is SENT", change: spec(true, "republish"), want: "write another OutboxReplay"},
		{name: "not any more", change: spec(false, "execute"), want: "execute cannot be taken back: write suspend: true"},
		{name: "execute left out", change: spec(nil, "execute"), want: "execute cannot be taken back: write suspend: true"},
	}
}
