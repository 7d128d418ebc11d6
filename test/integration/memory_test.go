package integration

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/test/load"
)

// A thousand such rows are a gigabyte: without its budget a relay would hold
// several batches of that.
func TestPayloadsInMemoryAreBoundedHoweverLargeTheBatch(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	f := newFleet(t)
	require.NoError(t, broker.Admin().ConfigureTopic(f.name, map[string]string{"max.message.bytes": "2000000"}))
	f.settings.BatchSize, f.settings.MaxBytesInFlight = 1000, 16*mebibyte
	producer := load.NewProducer(f.tables, load.Plan{})
	for range 300 {
		require.NoError(t, producer.Commit(t.Context(), load.NewEvent("large", mebibyte)))
	}
	f.produce(3000)
	f.consume()
	r := f.start()
	f.verdict()
	peak, err := r.MaxResident()
	require.NoError(t, err)
	t.Logf("%d MiB resident at most", peak/mebibyte)
	require.Less(t, peak, int64(200*mebibyte))
}
