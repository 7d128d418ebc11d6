package controllers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// kind is one of the two, and where what is said of it stands.
type kind struct {
	plural string
	// spec and status are the sections of the reference.
	spec, status string
	// samples is a pattern of files.
	samples string
	invalid func(*testing.T) []invalid
}

func kinds() []kind {
	return []kind{
		{
			plural: "outboxrelays", spec: "spec", status: "status", samples: "../config/samples/*.yaml", invalid: invalidRelays,
		},
		{
			plural: "outboxreplays", spec: "OutboxReplay spec", status: "OutboxReplay status", samples: "../config/samples/replays/*.yaml",
			invalid: func(t *testing.T) []invalid {
				t.Helper()
				return append(invalidReplays(t), invalidReplayChanges(t)...)
			},
		},
	}
}

func relaysKind() kind { return kinds()[0] }

// forEachKind runs a test of both.
func forEachKind(t *testing.T, test func(*testing.T, kind)) {
	t.Helper()
	for _, k := range kinds() {
		t.Run(k.plural, func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

func (k kind) definition() string {
	return "../config/install/crd/outbox.relayfleet.io_" + k.plural + ".yaml"
}

// schema is that of the whole object.
func (k kind) schema(t *testing.T) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	data, err := os.ReadFile(k.definition())
	require.NoError(t, err)
	var definition apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(data, &definition))
	return *definition.Spec.Versions[0].Schema.OpenAPIV3Schema
}

func (k kind) specSchema(t *testing.T) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	return k.schema(t).Properties["spec"]
}

func (k kind) sampleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(k.samples)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func (k kind) sampleObjects(t *testing.T, namespace string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, file := range k.sampleFiles(t) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(data, &object.Object), file)
		object.SetNamespace(namespace)
		objects = append(objects, object)
	}
	return objects
}
