package pgbouncer

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/hack/service"
)

// StartForTest starts a pooler that ends with the test. Where PgBouncer is not installed the test is skipped.
func StartForTest(t testing.TB, server *postgres.Server, o Options) *Pooler {
	t.Helper()
	p, err := Start(t.Context(), server, o)
	if errors.Is(err, ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		var why strings.Builder
		service.Explain(&why, err)
		t.Fatal(why.String())
	}
	t.Cleanup(func() { require.NoError(t, p.Remove(context.Background())) })
	return p
}
