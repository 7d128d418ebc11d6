package integration

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/test/load"
)

func TestARecordThatTheBrokerRefusesFailsAloneAndVisibly(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	require.NoError(t, broker.Admin().ConfigureTopic(f.name, map[string]string{"max.message.bytes": "20000"}))
	f.produce(300)
	large := load.NewEvent("order-large", 100_000)
	require.NoError(t, load.NewProducer(f.tables, load.Plan{}).Commit(t.Context(), large))
	f.produce(300)
	f.consume()
	r := f.start()
	v := f.look(1)
	require.NoError(t, v.Err())
	require.EqualValues(t, 1, v.Failed)
	require.EqualValues(t, 600, f.count("status = 'SENT'"))
	var reason string
	require.NoError(t, f.owner.QueryRow(t.Context(),
		"SELECT last_error FROM outbox WHERE status = 'FAILED' AND event_id = $1 AND failed_at IS NOT NULL", large.ID.String()).Scan(&reason))
	require.Equal(t, "the record is larger than the topic allows", reason)
	require.EqualValues(t, 1, r.report().Rates.Failed)
}
