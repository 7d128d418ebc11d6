package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/database/postgres"
)

// A standby follows its primary, refuses writes, and goes on alone when it is promoted.
func TestAStandbyFollowsAndIsPromoted(t *testing.T) {
	primary := postgres.StartForTest(t, postgres.Options{NotDurable: true})
	ctx := t.Context()
	require.NoError(t, primary.CreateRole(ctx, "shop"))
	require.NoError(t, primary.CreateDatabase(ctx, "shop", "shop"))
	standby, err := primary.StartStandby(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Remove(context.Background())) })

	writer, err := primary.Connect(ctx, "shop")
	require.NoError(t, err)
	defer writer.Close(ctx)
	_, err = writer.Exec(ctx, "CREATE TABLE t (n int); INSERT INTO t VALUES (1)")
	require.NoError(t, err)
	reader, err := standby.Connect(ctx, "shop")
	require.NoError(t, err)
	defer reader.Close(ctx)
	require.Eventually(t, func() bool {
		var n int
		return reader.QueryRow(ctx, "SELECT count(*) FROM t").Scan(&n) == nil && n == 1
	}, time.Minute, 20*time.Millisecond)
	_, err = reader.Exec(ctx, "INSERT INTO t VALUES (2)")
	require.ErrorContains(t, err, "read-only")

	require.NoError(t, primary.StopImmediate(ctx))
	require.NoError(t, standby.Promote(ctx))
	_, err = reader.Exec(ctx, "INSERT INTO t VALUES (2)")
	require.NoError(t, err)
}
