package schema

import (
	"errors"
	"strings"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

// Severity says what a finding does to a relay.
type Severity string

const (
	// Blocking: events would be lost, never be found, or never be settled. A relay
	// claims nothing until it is mended.
	Blocking Severity = "blocking"
	// Warning: the relay works, but slower, or without something.
	Warning Severity = "warning"
)

// The codes of the findings that only this package makes; those of package outbox
// come first.
const (
	// ColumnsUnwritable: columns of the claim are generated, or refuse the NULL that
	// a settle writes. Blocking.
	ColumnsUnwritable = "ColumnsUnwritable"
	// IDNotUnique: nothing keeps two rows from having one id. Blocking.
	IDNotUnique = "IDNotUnique"
	// StatusNotAllowed: the type of the status, or a CHECK, refuses one of the
	// mapping's values. Blocking.
	StatusNotAllowed = "StatusNotAllowed"
	// RowSecurity: policies decide which rows the role sees. Blocking.
	RowSecurity = "RowSecurity"
	// ColumnsNullable: a row with NULL there is never claimed, or never seen.
	ColumnsNullable = "ColumnsNullable"
	// LeaseUnchecked: no CHECK says that claimed rows have a lease.
	LeaseUnchecked = "LeaseUnchecked"
	// FailedUnchecked: no CHECK says that FAILED rows have failed_at.
	FailedUnchecked = "FailedUnchecked"
	// IndexMissing: a statement reads far more than it takes.
	IndexMissing = "IndexMissing"
	// IndexInvalid: an index was left behind by a CREATE INDEX CONCURRENTLY that failed.
	IndexInvalid = "IndexInvalid"
	// IndexDifferent: the index of that name has other keys or another predicate.
	IndexDifferent = "IndexDifferent"
	// PlanUnsuitable: the index is there and the planner does not use it.
	PlanUnsuitable = "PlanUnsuitable"
	// DeleteDenied: retention is asked for and the role may not delete.
	DeleteDenied = "DeleteDenied"
	// ForeignKeys: retention is asked for and other tables reference this one, so
	// that nothing is deleted.
	ForeignKeys = "ForeignKeys"
	// UpdateTriggers: row triggers run for every claim and every settle.
	UpdateTriggers = "UpdateTriggers"
	// RowsWithoutLease: claimed rows without a lease. Nobody claims them: they are
	// stranded, or are being sent by something else.
	RowsWithoutLease = "RowsWithoutLease"
	// RowsWithoutDueTime: waiting rows without a due time. Nobody claims them.
	RowsWithoutDueTime = "RowsWithoutDueTime"
	// StrayLeases: waiting rows with a lease, which means nothing.
	StrayLeases = "StrayLeases"
	// RowsVanish: rows are inserted and deleted, and none could ever be claimed.
	RowsVanish = "RowsVanish"
	// AutovacuumSlow: dead rows pile up between two vacuums.
	AutovacuumSlow = "AutovacuumSlow"
	// OldSnapshot: something keeps VACUUM from removing dead rows.
	OldSnapshot = "OldSnapshot"
	// AsynchronousCommit: a crash of the server forgets what was published last.
	AsynchronousCommit = "AsynchronousCommit"
)

// Finding is something about the table or its server that is not as it should be.
type Finding struct {
	// Code is one of the constants above, or one of package outbox.
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	// Slots name the columns, under their names in the Relayfleet table.
	Slots []string `json:"slots,omitempty"`
	// Message says what was found, Advice what to do about it.
	Message string `json:"message"`
	Advice  string `json:"advice"`
	// Statements mend it, where statements can: for the owner of the table.
	Statements []string `json:"statements,omitempty"`

	// creates: Statements only add what is missing, so that Apply may run them.
	creates bool
}

// Codes are the codes of findings of one severity, each once, the first ten.
func Codes(findings []Finding, severity Severity) []string {
	const most = 10 // A report has no room for more.
	var codes []string
	seen := map[string]bool{}
	for _, f := range findings {
		if f.Severity == severity && !seen[f.Code] && len(codes) < most {
			codes, seen[f.Code] = append(codes, f.Code), true
		}
	}
	return codes
}

// Blocks is the first blocking finding as an *outbox.Problem; nil without one.
func Blocks(findings []Finding) error {
	for _, f := range findings {
		if f.Severity == Blocking {
			return &outbox.Problem{Code: f.Code, Slots: f.Slots, Err: errors.New(f.Message)}
		}
	}
	return nil
}

func list(names []string) string { return strings.Join(names, ", ") }
