package kafka

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/service"
)

// StartForTest starts a cluster that ends with the test, or with the test's process if that is killed.
func StartForTest(t testing.TB, options Options) *Cluster {
	t.Helper()
	options.DieWithCaller = true
	c, err := Start(t.Context(), options)
	if err != nil {
		var why strings.Builder
		service.Explain(&why, err)
		t.Fatal(why.String())
	}
	t.Cleanup(func() { require.NoError(t, c.Remove(context.Background())) })
	return c
}
