package report

// Code says in one word how something that a relay depends on is doing. The
// operator turns it into a condition's reason and a sentence.
type Code string

const (
	// OK: usable.
	OK Code = "OK"
	// Unchecked: not looked at yet; nothing is known.
	Unchecked Code = "Unchecked"

	// CredentialsMissing: the Secret, or the key in it, is not there.
	CredentialsMissing Code = "CredentialsMissing"
	// CredentialsInvalid: what the Secret holds cannot be read as what it should be.
	CredentialsInvalid Code = "CredentialsInvalid"
	// TLSTooWeak: the connection URI asks for less than the resource's TLS mode.
	TLSTooWeak Code = "TLSTooWeak"
	// TLSFailed: the server's certificate was not accepted, or it speaks no TLS.
	TLSFailed Code = "TLSFailed"
	// AuthenticationFailed: the server refused user or password.
	AuthenticationFailed Code = "AuthenticationFailed"
	// Unreachable: no connection, or it broke.
	Unreachable Code = "Unreachable"

	// DatabaseMissing: the server has no database of that name.
	DatabaseMissing Code = "DatabaseMissing"
	// PoolingMismatch: a pooler in transaction mode where the resource says Session.
	PoolingMismatch Code = "PoolingMismatch"
	// ReadOnly: the server takes no writes: a standby, or a database set so.
	ReadOnly Code = "ReadOnly"
	// DatabaseFailed: the server refuses the statements for another reason.
	DatabaseFailed Code = "DatabaseFailed"

	// TableMissing: there is no table of that name, or the role cannot see it.
	TableMissing Code = "TableMissing"
	// ColumnsMissing: the table lacks the columns named in Slots.
	ColumnsMissing Code = "ColumnsMissing"
	// ColumnsMistyped: the columns named in Slots have a type that cannot serve.
	ColumnsMistyped Code = "ColumnsMistyped"
	// PermissionDenied: the role lacks a grant on the table.
	PermissionDenied Code = "PermissionDenied"

	// ColumnsUnwritable: the columns named in Slots are generated, or refuse NULL.
	ColumnsUnwritable Code = "ColumnsUnwritable"
	// IDNotUnique: nothing keeps two rows from having one id.
	IDNotUnique Code = "IDNotUnique"
	// StatusNotAllowed: the table refuses a status of the mapping.
	StatusNotAllowed Code = "StatusNotAllowed"
	// RowSecurity: policies decide which rows the role sees.
	RowSecurity Code = "RowSecurity"

	// TopicMissing: the broker knows no topic of that name.
	TopicMissing Code = "TopicMissing"
	// TopicForbidden: the broker does not let the relay write to the topic.
	TopicForbidden Code = "TopicForbidden"
	// BrokerFailed: the broker answers and refuses for another reason.
	BrokerFailed Code = "BrokerFailed"
)

// Codes lists every code that a report may carry; a reader takes another one
// for Unchecked.
func Codes() []Code {
	return []Code{
		OK, Unchecked, CredentialsMissing, CredentialsInvalid, TLSTooWeak, TLSFailed, AuthenticationFailed, Unreachable,
		DatabaseMissing, PoolingMismatch, ReadOnly, DatabaseFailed, TableMissing, ColumnsMissing, ColumnsMistyped, PermissionDenied,
		ColumnsUnwritable, IDNotUnique, StatusNotAllowed, RowSecurity,
		TopicMissing, TopicForbidden, BrokerFailed,
	}
}

// The codes of Findings: what a relay has found at its table that stops nothing.
const (
	// ColumnsNullable: rows may lack what a claim needs.
	ColumnsNullable Code = "ColumnsNullable"
	// LeaseUnchecked and FailedUnchecked: a CHECK that others could break is missing.
	LeaseUnchecked  Code = "LeaseUnchecked"
	FailedUnchecked Code = "FailedUnchecked"
	// IndexMissing, IndexInvalid and IndexDifferent: a statement lacks its index.
	IndexMissing   Code = "IndexMissing"
	IndexInvalid   Code = "IndexInvalid"
	IndexDifferent Code = "IndexDifferent"
	// PlanUnsuitable: the planner passes over the indexes.
	PlanUnsuitable Code = "PlanUnsuitable"
	// DeleteDenied and ForeignKeys: retention deletes nothing.
	DeleteDenied Code = "DeleteDenied"
	ForeignKeys  Code = "ForeignKeys"
	// UpdateTriggers: row triggers run for every claim.
	UpdateTriggers Code = "UpdateTriggers"
	// RowsWithoutLease and RowsWithoutDueTime: rows that no relay takes.
	RowsWithoutLease   Code = "RowsWithoutLease"
	RowsWithoutDueTime Code = "RowsWithoutDueTime"
	// StrayLeases: waiting rows with a lease.
	StrayLeases Code = "StrayLeases"
	// RowsVanish: rows are deleted before anybody can claim them.
	RowsVanish Code = "RowsVanish"
	// AutovacuumSlow and OldSnapshot: dead rows pile up.
	AutovacuumSlow Code = "AutovacuumSlow"
	OldSnapshot    Code = "OldSnapshot"
	// AsynchronousCommit: a crash of the server forgets the last outcomes.
	AsynchronousCommit Code = "AsynchronousCommit"
)

// The codes of Notifications beside OK.
const (
	// NotHeard: the relay listens in vain, or cannot listen.
	NotHeard Code = "NotHeard"
	// NotAnnounced: notifications could be heard, and new rows come without one.
	NotAnnounced Code = "NotAnnounced"
)

// FindingCodes lists every code that Findings may have, the gravest first; a
// reader passes over others.
func FindingCodes() []Code {
	return []Code{
		RowsWithoutLease, RowsWithoutDueTime, RowsVanish, IndexMissing, IndexInvalid, IndexDifferent, PlanUnsuitable,
		OldSnapshot, AutovacuumSlow, UpdateTriggers, ForeignKeys, DeleteDenied, AsynchronousCommit, ColumnsNullable,
		LeaseUnchecked, FailedUnchecked, StrayLeases,
	}
}
