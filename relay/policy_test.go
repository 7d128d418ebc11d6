package relay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/relayfleet/relayfleet/relay/event"
)

var testPolicy = RetryPolicy{MaxAttempts: 3, MaxAge: time.Hour, Backoff: 5 * time.Second, MaxBackoff: 60 * time.Second}

// able is a table that can record everything.
var able = event.Abilities{Attempts: true, Failed: true, Age: true, Token: true}

func noSpread() float64 { return 0 }

func TestTheFirstRefusalWaitsTheBaseThenItDoublesAndReachesTheCap(t *testing.T) {
	for i, want := range []string{"5s", "10s", "20s", "40s", "1m0s", "1m0s"} {
		require.Equal(t, want, testPolicy.delay(i+1, 0).String(), "attempt %d", i+1)
	}
	require.Equal(t, 60*time.Second, testPolicy.delay(1_000_000, 0))
	require.Equal(t, 5*time.Second, testPolicy.delay(0, 0), "a table that does not count")
}

func TestJitterTakesAtMostATenthOffAndNeverExceedsTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		attempts, spread := rapid.IntRange(0, 40).Draw(t, "attempts"), rapid.Float64Range(0, 0.999999).Draw(t, "spread")
		full, got := testPolicy.delay(attempts, 0), testPolicy.delay(attempts, spread)
		require.LessOrEqual(t, got, full)
		require.LessOrEqual(t, got, testPolicy.MaxBackoff)
		require.GreaterOrEqual(t, got, full-full/10)
	})
}

func TestWhatATableCannotRecordIsOff(t *testing.T) {
	old := event.Event{Attempts: 50, Age: 100 * time.Hour}
	refused, rejected := event.Outcome{Kind: event.Refused, Reason: "why"}, event.Outcome{Kind: event.Rejected, Reason: "why"}
	for name, tc := range map[string]struct {
		able    event.Abilities
		event   event.Event
		outcome event.Outcome
		want    event.Settlement
	}{
		"no attempts: a refusal is retried for ever": {
			event.Abilities{Failed: true, Age: true}, old, refused, event.Settlement{Action: event.Retry, Delay: time.Minute, Reason: "why"},
		},
		"no attempts: a rejection still fails": {
			event.Abilities{Failed: true, Age: true}, old, rejected, event.Settlement{Action: event.Fail, Reason: "why"},
		},
		"no FAILED: a refusal is retried": {
			event.Abilities{Attempts: true, Age: true}, old, refused, event.Settlement{Action: event.Retry, Delay: time.Minute, Reason: "why"},
		},
		"no FAILED: a rejection waits the longest": {
			event.Abilities{Attempts: true, Age: true},
			event.Event{Attempts: 1},
			rejected,
			event.Settlement{Action: event.Retry, Delay: time.Minute, Reason: "why"},
		},
		"no age: attempts alone decide": {
			event.Abilities{Attempts: true, Failed: true}, event.Event{Attempts: 3}, refused, event.Settlement{Action: event.Fail, Reason: "why"},
		},
		"no age: and they are not used up": {
			event.Abilities{Attempts: true, Failed: true},
			event.Event{Attempts: 2},
			refused,
			event.Settlement{Action: event.Retry, Delay: 10 * time.Second, Reason: "why"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := event.Batch{Events: []event.Event{tc.event}}
			got := testPolicy.plan(tc.able, b, []event.Outcome{tc.outcome}, false, noSpread)
			require.Equal(t, []event.Settlement{tc.want}, got.settlements)
		})
	}
}

func TestASuspectedEventStaysChargedUntilItFailsAlone(t *testing.T) {
	unknown := []event.Outcome{{Kind: event.Unknown}}
	for name, tc := range map[string]struct {
		able     event.Abilities
		lone     bool
		attempts int
		want     event.Action
	}{
		"alone and used up":      {able, true, 3, event.Fail},
		"alone, with tries left": {able, true, 2, event.Leave},
		"used up among others":   {able, false, 3, event.Leave},
		"nothing counts tries":   {event.Abilities{Failed: true, Age: true}, true, 3, event.Leave},
		"nothing can be FAILED":  {event.Abilities{Attempts: true, Age: true}, true, 3, event.Leave},
	} {
		t.Run(name, func(t *testing.T) {
			b := event.Batch{Lone: tc.lone, Events: []event.Event{{Attempts: tc.attempts}}}
			got := testPolicy.plan(tc.able, b, unknown, true, noSpread)
			require.Equal(t, tc.want, got.settlements[0].Action)
			require.Empty(t, got.unanswered)
			require.Empty(t, got.unsent)
		})
	}
}

func TestFailedNeedsAttemptsAndAge(t *testing.T) {
	for name, tc := range map[string]struct {
		attempts int
		age      time.Duration
		want     event.Action
	}{
		"neither":       {1, time.Minute, event.Retry},
		"attempts only": {3, time.Minute, event.Retry},
		"age only":      {2, 2 * time.Hour, event.Retry},
		"both":          {3, time.Hour, event.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			got := testPolicy.afterRefusal(able, event.Event{Attempts: tc.attempts, Age: tc.age}, "too large", 0)
			require.Equal(t, tc.want, got.Action)
			require.Equal(t, "too large", got.Reason)
		})
	}
}

func TestEachOutcomeHasItsSettlement(t *testing.T) {
	outcomes := []event.Outcome{
		{Kind: event.Published},
		{Kind: event.Refused, Reason: "later"},
		{Kind: event.Rejected, Reason: "never"},
		{Kind: event.Unsent},
		{Kind: event.Unknown},
	}
	b := event.Batch{Events: make([]event.Event, len(outcomes))}
	got := testPolicy.plan(able, b, outcomes, false, noSpread)
	require.Equal(t, []event.Settlement{
		{Action: event.Sent},
		{Action: event.Retry, Delay: 5 * time.Second, Reason: "later"},
		{Action: event.Fail, Reason: "never"},
		{},
		{},
	}, got.settlements)
	require.Equal(t, []int{3}, got.unsent)
	require.Equal(t, []int{4}, got.unanswered)
}

// Whatever the broker says, an event is settled as SENT only when it was
// acknowledged, and nothing that was not the record's fault can make it FAILED.
func TestOnlyTheRecordItselfIsCharged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := event.OutcomeKind(rapid.IntRange(0, 4).Draw(t, "kind"))
		e := event.Event{Attempts: rapid.IntRange(0, 100).Draw(t, "attempts"), Age: time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "age"))}
		got := testPolicy.plan(able, event.Batch{Events: []event.Event{e}}, []event.Outcome{{Kind: kind}}, false, noSpread)
		action := got.settlements[0].Action
		require.Equal(t, kind == event.Published, action == event.Sent)
		require.Equal(t, kind == event.Unsent, len(got.unsent) == 1)
		require.Equal(t, kind == event.Unknown, len(got.unanswered) == 1)
		if kind == event.Unsent || kind == event.Unknown {
			require.Equal(t, event.Leave, action)
		}
	})
}

func TestTheDeadlineLeavesTimeForTheSettle(t *testing.T) {
	start := time.Now()
	for lease, want := range map[time.Duration]time.Duration{
		5 * time.Second:  4 * time.Second,
		10 * time.Second: 8 * time.Second,
		30 * time.Second: 25 * time.Second,
		time.Hour:        time.Hour - 5*time.Second,
	} {
		b := event.Batch{Started: start, Lease: lease}
		require.Equal(t, want, deadline(b).Sub(start))
		require.Equal(t, lease, leaseEnd(b).Sub(start))
	}
}
