package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/service"
)

// StartForTest starts a server that ends with the test, or with the test's process if that is killed.
func StartForTest(t testing.TB, options Options) *Server {
	t.Helper()
	options.DieWithCaller = true
	s, err := Start(t.Context(), options)
	if err != nil {
		var why strings.Builder
		service.Explain(&why, err)
		t.Fatal(why.String())
	}
	t.Cleanup(func() { require.NoError(t, s.Remove(context.Background())) })
	return s
}
