package controllers

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/relay/report"
)

func TestEveryFindingHasASentenceAndALineInTheDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/tables.md")
	require.NoError(t, err)
	for _, code := range report.FindingCodes() {
		require.NotEmpty(t, schemaWarnings[code], code)
		require.Contains(t, string(text), "| "+string(code)+" |", code)
	}
	require.Len(t, schemaWarnings, len(report.FindingCodes()))
}

func TestWarningsAreFew(t *testing.T) {
	t.Parallel()
	require.Empty(t, warned(nil))
	require.Equal(t, "; to be mended: an index is missing (IndexMissing); relayfleet schema check says how", warned([]report.Code{report.IndexMissing}))
	require.Contains(t, warned(report.FindingCodes()), "and 13 more")
}

// What stops nothing is in the message, and changes no condition.
func TestWhatIsFoundAtATableIsInTheMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox()
	w.create(o)
	w.pod(o, func(r *report.Report) {
		r.Findings = []report.Code{report.IndexMissing, "<b>", report.RowsWithoutLease}
	})
	w.startOperator()
	w.deployed(1)
	c := w.waitFor(v1alpha1.ConditionSchemaValid, metav1.ConditionTrue, reasonValid)
	require.Equal(t, `table "public.outbox" can serve as an outbox; to be mended: claimed rows without a lease, which no relay takes (RowsWithoutLease), `+
		`an index is missing (IndexMissing); relayfleet schema check says how`, c.Message)
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionTrue, reasonRelaysRunning)
}
