package relay

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
)

// documented are the rows of the reference: name, type, and the label with its values.
func documented(t *testing.T) (rows []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/metrics.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `(relayfleet_[a-z_]+)` \\| ([a-z]+) \\| (.*?) ?\\| [a-z]")
	for _, found := range row.FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, found[1]+" "+found[2]+" "+strings.ReplaceAll(found[3], "`", ""))
	}
	sort.Strings(rows)
	return rows
}

// registered are the metrics of the relay in the same form.
func registered(t *testing.T) (rows []string) {
	t.Helper()
	families, err := NewMetrics().registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "relayfleet_") {
			continue
		}
		require.NotEmpty(t, family.GetHelp())
		label, values := "", []string{}
		for _, metric := range family.GetMetric() {
			for _, pair := range metric.GetLabel() {
				label, values = pair.GetName()+": ", append(values, pair.GetValue())
			}
		}
		sort.Strings(values)
		rows = append(rows, family.GetName()+" "+strings.ToLower(family.GetType().String())+" "+label+strings.Join(values, ", "))
	}
	return rows
}

func TestTheReferenceListsEveryMetricWithItsLabels(t *testing.T) {
	want := documented(t)
	for i, row := range want { // The page lists values in their usual order.
		head, values, found := strings.Cut(row, ": ")
		if found {
			list := strings.Split(values, ", ")
			sort.Strings(list)
			want[i] = head + ": " + strings.Join(list, ", ")
		}
	}
	require.NotEmpty(t, want)
	require.Equal(t, want, registered(t))
}

func served(m *Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

func TestMetricsCountWhatHappens(t *testing.T) {
	m := NewMetrics()
	told := m.Events()
	told.Claimed(event.Batch{}, time.Millisecond)
	told.Claimed(event.Batch{Events: make([]event.Event, 3), Reclaimed: 2, Abandoned: 1}, time.Millisecond)
	told.Published(event.Batch{}, []event.Outcome{{Kind: event.Published}, {Kind: event.Published}, {Kind: event.Unsent}}, time.Second, nil)
	told.Settled(event.Batch{}, event.Settled{Sent: 2, Stale: 1}, time.Millisecond)
	told.Renewed(event.Settled{Renewed: 3, Overtaken: 1})
	told.Suspected(event.Batch{}, nil)
	told.Abandoned(event.Batch{}, 4, nil)
	told.Holding(5, 600)
	told.Purged(7, 0)
	told.Hinted()
	told.Sampled(event.Backlog{OldestEligible: 8 * time.Second, OldestUnsent: 80 * time.Second, Eligible: 9, InFlight: 10, ExpiredLeases: 11, Failed: 12})

	text := served(m)
	for _, line := range []string{
		`relayfleet_published_events_total 2`, `relayfleet_unpublished_events_total{outcome="unsent"} 1`,
		`relayfleet_recorded_events_total{as="sent"} 2`, `relayfleet_recorded_events_total{as="renewed"} 3`,
		`relayfleet_refused_records_total{kind="stale"} 1`, `relayfleet_refused_records_total{kind="overtaken"} 1`,
		`relayfleet_unrecorded_events_total 4`, `relayfleet_abandoned_events_total 1`, `relayfleet_reclaimed_events_total 2`,
		`relayfleet_suspected_batches_total 1`, `relayfleet_purged_rows_total 7`, `relayfleet_empty_claims_total 1`, `relayfleet_hinted_waits_total 1`,
		`relayfleet_claim_seconds_count 1`, `relayfleet_send_seconds_sum 1`, `relayfleet_settle_seconds_count 1`,
		`relayfleet_events_in_flight 5`, `relayfleet_payload_bytes_in_flight 600`,
		`relayfleet_table_oldest_eligible_age_seconds 8`, `relayfleet_table_oldest_unsent_age_seconds 80`,
		`relayfleet_table_eligible_rows 9`, `relayfleet_table_claimed_rows 10`, `relayfleet_table_expired_leases 11`,
		`relayfleet_table_failed_rows 12`,
	} {
		require.Contains(t, text, "\n"+line+"\n")
	}
}

func TestAPauseIsCountedOnceHoweverOftenItsReasonChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics()
		told := m.Events()
		time.Sleep(2 * time.Second)
		told.Paused(Broker, errors.New("not there yet"))
		require.Contains(t, served(m), `relayfleet_pauses_total{subject="broker"} 0`, "the start is no pause")
		time.Sleep(time.Second)
		told.Resumed(Broker, 0)
		time.Sleep(time.Hour)
		told.Paused(Broker, errors.New("away"))
		told.Paused(Broker, errors.New("wrong password"))
		time.Sleep(4 * time.Second)
		require.Contains(t, served(m), `relayfleet_pauses_total{subject="broker"} 1`)
		require.InDelta(t, 7, m.pauses[Broker].seconds(), 0.001, "of which four go on")
		require.InDelta(t, 3607, m.pauses[Database].seconds(), 0.001)
	})
}
