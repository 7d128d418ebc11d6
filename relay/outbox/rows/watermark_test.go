package rows

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

// Far looks take no more than their share of the time, and are never rarer than
// farEvery, however dear they are.
func TestHowOftenAClaimLooksFar(t *testing.T) {
	begin := time.Now()
	for cost, wait := range map[time.Duration]time.Duration{
		time.Millisecond: farShare * time.Millisecond, 10 * time.Millisecond: farShare * 10 * time.Millisecond, time.Minute: farEvery,
	} {
		w := watermark{oldest: begin, farAt: begin, sweptAt: begin, farCost: cost}
		require.Equal(t, near, w.next(begin.Add(wait-time.Microsecond)), cost)
		require.Equal(t, far, w.next(begin.Add(wait)), cost)
		require.Equal(t, everywhere, w.next(begin.Add(sweepEvery)), cost)
	}
	require.Equal(t, everywhere, (&watermark{}).next(begin), "nothing is known yet")
}

// A near look sees what an ordinary writer's row is never behind, a far one more,
// and a sweep all.
func TestHowFarALookReaches(t *testing.T) {
	w := watermark{oldest: time.Now()}
	require.Equal(t, nearSlack, w.oldest.Sub(w.low(near).Time))
	require.Equal(t, farSlack, w.oldest.Sub(w.low(far).Time))
	require.Equal(t, pgtype.NegativeInfinity, w.low(everywhere).InfinityModifier)
	require.Less(t, nearSlack, farSlack)
	require.Positive(t, nearSlack)
}
