package controllers

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func sampleObjects(t *testing.T, namespace string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, file := range sampleFiles(t) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(data, &object.Object), file)
		object.SetNamespace(namespace)
		objects = append(objects, object)
	}
	return objects
}

// A field that no sample has is a field that no example shows.
func TestTheSamplesHaveEveryField(t *testing.T) {
	t.Parallel()
	samples := sampleObjects(t, "any")
	eachField(specSchema(t), "", func(path string, _ apiextensionsv1.JSONSchemaProps, _ bool) {
		require.True(t, slices.ContainsFunc(samples, func(o *unstructured.Unstructured) bool {
			return at(o.Object["spec"], path) != nil
		}), path)
	})
}

func TestEveryPresetHasASample(t *testing.T) {
	t.Parallel()
	presets := map[any]bool{}
	for _, sample := range sampleObjects(t, "any") {
		presets[at(sample.Object["spec"], "mapping.preset")] = true
	}
	for _, preset := range specSchema(t).Properties["mapping"].Properties["preset"].Enum {
		var name string
		require.NoError(t, yaml.Unmarshal(preset.Raw, &name))
		require.True(t, presets[name], name)
	}
}
