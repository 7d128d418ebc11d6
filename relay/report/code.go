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
		DatabaseMissing, ReadOnly, DatabaseFailed, TableMissing, ColumnsMissing, ColumnsMistyped, PermissionDenied,
		TopicMissing, TopicForbidden, BrokerFailed,
	}
}
