package controllers

import (
	"fmt"
	"strings"

	"github.com/relayfleet/relayfleet/relay/report"
)

// schemaWarnings are what relays find at their table that stops nothing, each as
// a part of a sentence.
var schemaWarnings = map[report.Code]string{
	report.RowsWithoutLease:   "claimed rows without a lease, which no relay takes",
	report.RowsWithoutDueTime: "waiting rows without a due time, which no relay takes",
	report.RowsVanish:         "rows are deleted before a relay can claim them",
	report.IndexMissing:       "an index is missing",
	report.IndexInvalid:       "an index is not valid",
	report.IndexDifferent:     "an index has another definition than the statements rely on",
	report.PlanUnsuitable:     "the planner does not use the indexes",
	report.OldSnapshot:        "something keeps VACUUM from removing dead rows",
	report.AutovacuumSlow:     "autovacuum runs too seldom",
	report.UpdateTriggers:     "row triggers run at every claim",
	report.ForeignKeys:        "foreign keys reference it, so retention deletes nothing",
	report.DeleteDenied:       "DELETE is not granted, so retention deletes nothing",
	report.AsynchronousCommit: "synchronous_commit is off",
	report.ColumnsNullable:    "columns of the claim may be NULL",
	report.LeaseUnchecked:     "no CHECK ties the lease to the status",
	report.FailedUnchecked:    "no CHECK ties failed_at to the status",
	report.StrayLeases:        "waiting rows with a lease",
}

// maxWarnings is how many of them are spelled out.
const maxWarnings = 4

// warned is the end of a sentence about the table; empty without warnings.
func warned(codes []report.Code) string {
	var parts []string
	for _, code := range codes[:min(len(codes), maxWarnings)] {
		parts = append(parts, fmt.Sprintf("%s (%s)", schemaWarnings[code], code))
	}
	if more := len(codes) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; to be mended: " + strings.Join(parts, ", ") + "; relayfleet schema check says how"
}
