package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

// scenario says what it found wrong; empty when the worker passes.
type scenario func(t *testing.T, b bench) (wrong []string)

// six are the scenarios of the recovery lab, by their numbers.
var six = []scenario{
	killAfterTheCommittedClaim,
	anOpenClaimIsRolledBack,
	anExpiredOwnersSent,
	aStaleOwnersSent,
	aStaleOwnersRetry,
	aRetryOfASentRow,
}

// presets are the tables of the presets.
var presets = map[string]string{
	"Relayfleet": "outbox", "Lab": "outbox_lab", "StatusCodes": "notification_outbox", "Token": "delivery_outbox", "Debezium": "outboxevent",
}

func newBench(t *testing.T, preset, kind string, number int) bench {
	t.Helper()
	table := outbox.Table{Schema: fmt.Sprintf("lab_%s_%d", kind, number), Name: presets[preset]}
	return bench{Database: database.NewPreset(t, preset, table), preset: preset, kind: kind}
}

func TestTheStorePassesAllSix(t *testing.T) {
	for preset := range presets {
		for i, run := range six {
			t.Run(fmt.Sprintf("%s/%d", preset, i+1), func(t *testing.T) {
				require.Empty(t, run(t, newBench(t, preset, kindGuarded, i+1)))
			})
		}
	}
}

// The baseline fails those that leases and generations are for, and only those.
func TestTheUnsafeBaselineFailsExactlyFour(t *testing.T) {
	for preset := range presets {
		t.Run(preset, func(t *testing.T) {
			var failed []int
			for i, run := range six {
				if wrong := run(t, newBench(t, preset, kindUnsafe, i+1)); len(wrong) > 0 {
					t.Logf("scenario %d: %s", i+1, strings.Join(wrong, "; "))
					failed = append(failed, i+1)
				}
			}
			require.Equal(t, []int{1, 3, 4, 5}, failed)
		})
	}
}

// findings collects what is wrong.
type findings []string

func (f *findings) check(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

// 1: a worker is killed after its claim has committed. The claim stays, and when
// its lease has ended another worker gets the same event.
func killAfterTheCommittedClaim(t *testing.T, b bench) (wrong []string) {
	t.Helper()
	id := b.insert(t, 1)[0]
	require.Equal(t, id, b.killed(t))
	left := b.look(t, id)
	require.Equal(t, "INPROGRESS", left.status, "a committed claim is not undone by a death")

	again := b.worker(t)
	got, err := again.claim(t.Context())
	require.NoError(t, err)
	require.Empty(t, got, "the lease still holds")
	b.expire(t, id)
	got, err = again.claim(t.Context())
	require.NoError(t, err)
	found := (*findings)(&wrong)
	found.check(got == id, "an expired claim is not claimed again: got %q", got)
	if b.kind == kindGuarded {
		found.check(b.look(t, id).claims == left.claims+1, "the reclaim was not counted")
	}
	return wrong
}

// 2: a claim transaction is open. Another worker takes another event, and a
// rollback frees the first.
func anOpenClaimIsRolledBack(t *testing.T, b bench) (wrong []string) {
	t.Helper()
	ids := b.insert(t, 2)
	holder := b.Connect(t, database.Owner)
	tx, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), fmt.Sprintf("UPDATE %s SET %[2]s = %[2]s WHERE %[3]s::text = $1", b.Table.SQL(), q(b.Mapping.Key), q(b.Mapping.EventID)), ids[0])
	require.NoError(t, err)
	other := b.worker(t)
	got, err := other.claim(t.Context())
	require.NoError(t, err)
	found := (*findings)(&wrong)
	found.check(got == ids[1], "beside an open claim %q was taken, not the other event", got)
	require.NoError(t, tx.Rollback(t.Context()))
	got, err = b.worker(t).claim(t.Context())
	require.NoError(t, err)
	found.check(got == ids[0], "after a rollback %q was taken, not the freed event", got)
	return wrong
}

// 3: the owner of an expired claim records SENT before anybody reclaims it.
func anExpiredOwnersSent(t *testing.T, b bench) (wrong []string) {
	t.Helper()
	id, owner := b.owned(t)
	b.expire(t, id)
	return b.refused(t, id, owner.sent)
}

// 4: a stale owner records SENT against a newer claim that is alive.
func aStaleOwnersSent(t *testing.T, b bench) (wrong []string) {
	t.Helper()
	id, owner := b.owned(t)
	b.supersede(t, id)
	return b.refused(t, id, owner.sent)
}

// 5: a stale owner records a retry against a newer claim that is alive.
func aStaleOwnersRetry(t *testing.T, b bench) (wrong []string) {
	t.Helper()
	id, owner := b.owned(t)
	b.supersede(t, id)
	return b.refused(t, id, owner.retry)
}

// 6: a retry cannot make a SENT event READY again.
func aRetryOfASentRow(t *testing.T, b bench) (wrong []string) {
	t.Helper()
	id, owner := b.owned(t)
	accepted, err := owner.sent(t.Context())
	require.NoError(t, err)
	require.True(t, accepted)
	return b.refused(t, id, owner.retry)
}

// owned is an event and the worker that holds it.
func (b bench) owned(t *testing.T) (string, worker) {
	t.Helper()
	id := b.insert(t, 1)[0]
	owner := b.worker(t)
	got, err := owner.claim(t.Context())
	require.NoError(t, err)
	require.Equal(t, id, got)
	return id, owner
}

// refused: recording must neither be accepted nor change anything.
func (b bench) refused(t *testing.T, id string, record func(context.Context) (bool, error)) (wrong []string) {
	t.Helper()
	before := b.look(t, id)
	accepted, err := record(t.Context())
	require.NoError(t, err)
	found := (*findings)(&wrong)
	found.check(!accepted, "a late outcome was accepted")
	found.check(b.look(t, id) == before, "a late outcome changed the row")
	return slices.Clip(wrong)
}
