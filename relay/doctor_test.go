package relay

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox/schema"
	"github.com/relayfleet/relayfleet/relay/report"
	"github.com/relayfleet/relayfleet/relay/settings"
)

func warnings(codes ...string) (findings []schema.Finding) {
	for _, code := range codes {
		findings = append(findings, schema.Finding{Code: code, Severity: schema.Warning, Message: "message of " + code, Statements: []string{"VACUUM;"}})
	}
	return findings
}

// The report's words are those of the doctor.
func TestEveryWarningCanBeReported(t *testing.T) {
	all := []string{
		schema.ColumnsNullable, schema.LeaseUnchecked, schema.FailedUnchecked, schema.IndexMissing, schema.IndexInvalid,
		schema.IndexDifferent, schema.PlanUnsuitable, schema.DeleteDenied, schema.ForeignKeys, schema.UpdateTriggers,
		schema.RowsWithoutLease, schema.RowsWithoutDueTime, schema.StrayLeases, schema.RowsVanish, schema.AutovacuumSlow,
		schema.OldSnapshot, schema.AsynchronousCommit,
	}
	known := []string{}
	for _, code := range report.FindingCodes() {
		known = append(known, string(code))
	}
	require.ElementsMatch(t, all, known)
	for _, code := range []string{schema.ColumnsUnwritable, schema.IDNotUnique, schema.StatusNotAllowed, schema.RowSecurity} {
		require.Contains(t, report.Codes(), report.Code(code))
		require.True(t, finding{code: report.Code(code)}.aboutSchema())
	}

	tracker := NewTracker(report.Report{}, 10)
	require.Nil(t, tracker.Report().Findings)
	tracker.Events().Examined(append(warnings(all...), schema.Finding{Code: "TableMissing", Severity: schema.Blocking}))
	require.Len(t, tracker.Report().Findings, report.MaxFindings)
	tracker.Events().Examined(warnings(schema.IndexMissing, schema.IndexMissing))
	require.Equal(t, []report.Code{report.IndexMissing}, tracker.Report().Findings)
	tracker.Events().Examined(nil)
	require.Empty(t, tracker.Report().Findings)
}

func TestAFindingIsLoggedOnceUntilItIsGone(t *testing.T) {
	var text bytes.Buffer
	events := Logs(slog.New(slog.NewTextHandler(&text, nil)))
	for range 3 {
		events.Examined(warnings(schema.IndexMissing))
	}
	require.Equal(t, 1, strings.Count(text.String(), "message of IndexMissing"))
	require.Contains(t, text.String(), "VACUUM;")
	events.Examined(nil)
	events.Examined(warnings(schema.IndexMissing))
	require.Equal(t, 2, strings.Count(text.String(), "message of IndexMissing"))
}

// A table that is not there can be created only for a mapping that is a preset's own.
func TestWhichMappingsAreAPresetsOwn(t *testing.T) {
	for text, want := range map[string]string{
		"": "Relayfleet", "mapping: {preset: Lab}\n": "Lab", "priority: {enabled: true}\n": "Relayfleet",
		"mapping: {columns: {key: other}}\n": "", "mapping: {headers: [{name: a, column: b}]}\n": "", "topicFrom: {column: other}\n": "",
	} {
		s := parse(t, text)
		m, err := mappingOf(s)
		require.NoError(t, err)
		require.Equal(t, want, unchanged(s, m), text)
	}
}

func TestTheDoctorOfSettings(t *testing.T) {
	doctor, end, err := OpenDoctor(parse(t, "retention: {policy: Delete}\nordering: {mode: Key}\n"), "")
	require.NoError(t, err)
	defer end()
	require.Contains(t, doctor.Grants("relay"), "GRANT DELETE")
	_, _, err = OpenDoctor(settings.Settings{Mapping: settings.Mapping{Preset: "Other"}}, "")
	require.Error(t, err)
}
