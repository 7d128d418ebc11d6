package controllers

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// A field that no sample has is a field that no example shows.
func TestTheSamplesHaveEveryField(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, k kind) {
		t.Helper()
		samples := k.sampleObjects(t, "any")
		eachField(k.specSchema(t), "", func(path string, _ apiextensionsv1.JSONSchemaProps, _ bool) {
			require.True(t, slices.ContainsFunc(samples, func(o *unstructured.Unstructured) bool {
				return at(o.Object["spec"], path) != nil
			}), path)
		})
	})
}

func TestEveryPresetHasASample(t *testing.T) {
	t.Parallel()
	presets := map[any]bool{}
	for _, sample := range relaysKind().sampleObjects(t, "any") {
		presets[at(sample.Object["spec"], "mapping.preset")] = true
	}
	for _, preset := range relaysKind().specSchema(t).Properties["mapping"].Properties["preset"].Enum {
		var name string
		require.NoError(t, yaml.Unmarshal(preset.Raw, &name))
		require.True(t, presets[name], name)
	}
}
