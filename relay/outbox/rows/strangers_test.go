package rows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// Something that knows no leases may be sending a claimed row without one right
// now. However due the row is, no claim takes it.
func TestAClaimedRowWithoutALeaseIsNeverTaken(t *testing.T) {
	for preset, name := range presets {
		t.Run(preset, func(t *testing.T) {
			d := open(t, preset, outbox.Table{Schema: "public", Name: name})
			d.Insert(t, 3)
			m := d.Mapping
			claimed := quote(m.Status) + " = '" + m.InProgress + "'"
			if m.InProgress == "" {
				claimed = quote(m.ClaimToken) + " = 'somebody''s'"
			}
			database.Exec(t, d.Owner, d.on("UPDATE %s SET "+claimed))
			if m.Attempts != "" {
				database.Exec(t, d.Owner, "UPDATE "+d.Table.SQL()+" AS o SET attempts = n.number "+
					"FROM (SELECT ctid, row_number() OVER () AS number FROM "+d.Table.SQL()+") AS n WHERE o.ctid = n.ctid")
			}
			store := newStore(t, d.Database)
			for _, suspects := range []bool{false, true} {
				b, err := store.Claim(t.Context(), event.Ask{Rows: 10, Suspects: suspects, MaxAttempts: 1})
				require.NoError(t, err)
				require.Empty(t, b.Events)
				require.Zero(t, b.Abandoned)
			}
			database.Exec(t, d.Owner, d.on("UPDATE %s SET "+quote(m.LeaseUntil)+" = now() - interval '1 second'"))
			require.NotEmpty(t, append(claim(t, store, 10).Events, suspects(t, store)...), "with a lease that has ended they are taken")
		})
	}
}

func suspects(t *testing.T, store *rows.Store) []event.Event {
	t.Helper()
	b, err := store.Claim(t.Context(), event.Ask{Rows: 10, Suspects: true, MaxAttempts: 100})
	require.NoError(t, err)
	return b.Events
}

// A status that the mapping does not name is somebody else's: a consumer's, or a
// mistake that a CHECK would have refused.
func TestARowWithAnUnknownStatusIsNobodys(t *testing.T) {
	d := open(t, "Relayfleet", outbox.Table{Schema: "public", Name: "outbox"})
	ids := d.Insert(t, 2)
	database.Exec(t, d.Owner, "UPDATE outbox SET status = 'Ready', lease_until = now() - interval '1 day', attempts = 5 WHERE event_id::text = $1", ids[0])
	before := d.Look(t, ids[0])
	config := rows.Config{Table: d.Table, Mapping: d.Mapping, Lease: outboxtest.Lease, Retention: &rows.Retention{Window: time.Second}}
	store, err := rows.New(d.Open(t), config)
	require.NoError(t, err)
	look, err := store.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, look.Eligible)
	b := claim(t, store, 10)
	require.Equal(t, []string{ids[1]}, []string{b.Events[0].ID})
	require.Empty(t, suspects(t, store))
	database.Exec(t, d.Owner, "GRANT DELETE ON outbox TO "+d.Role)
	_, _, err = store.Purge(t.Context())
	require.NoError(t, err)
	require.Equal(t, before.All, d.Look(t, ids[0]).All)
}

// docs/tables.md says that the constraint of status and lease holds what the
// guard's status holds.
func TestWhatTheConstraintMakesRedundant(t *testing.T) {
	d := table{database.New(t)} // With its constraints.
	statement := rows.Statements(d.Table, d.Mapping, shape(t, d.Database), 10)["settle_sent"].SQL
	mutant := pad(without(t, statement, `AND (o."status"::pg_catalog.text`, "'INPROGRESS'"))
	d.Insert(t, 1)
	b := claim(t, newStore(t, d.Database), 1)
	_, err := d.Store(t).Settle(t.Context(), b, []event.Settlement{{Action: event.Retry, Delay: time.Hour}})
	require.NoError(t, err)
	// What a claim leaves behind when it ends is put back, but for the lease, which the constraint forbids.
	token := fmt.Sprintf("%x", b.Token)
	database.Exec(t, d.Owner, "UPDATE outbox SET claim_token = $1::text::uuid", token)
	_, err = d.Owner.Exec(t.Context(), "UPDATE outbox SET lease_until = now() + interval '1 hour'")
	require.ErrorContains(t, err, "outbox_check")
	tag, err := d.Owner.Exec(t.Context(), mutant, token, []int64{number(t, b.Events[0].Row)}, []int64{1})
	require.NoError(t, err)
	require.Zero(t, tag.RowsAffected(), "the lease refuses what the status would have refused")
}
