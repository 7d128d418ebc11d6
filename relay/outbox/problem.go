package outbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// The codes of a Problem: what a person has to look at. They are the words that
// a relay's report uses.
const (
	// CredentialsMissing: a file with credentials is not there, or is empty.
	// Wait for it; nothing else helps.
	CredentialsMissing = "CredentialsMissing"
	// CredentialsInvalid: a file's content is not what it should be.
	CredentialsInvalid = "CredentialsInvalid"
	// TLSTooWeak: the URI asks for less than Config.TLSMode.
	TLSTooWeak = "TLSTooWeak"
	// TLSFailed: the server's certificate was not accepted, or it speaks no TLS.
	TLSFailed = "TLSFailed"
	// AuthenticationFailed: the server refuses user or password.
	AuthenticationFailed = "AuthenticationFailed"
	// Unreachable: no connection, or it broke. Trying again is right.
	Unreachable = "Unreachable"
	// DatabaseMissing: the server has no database of that name.
	DatabaseMissing = "DatabaseMissing"
	// ReadOnly: the server takes no writes. After a fail-over another one does,
	// so all connections are made anew.
	ReadOnly = "ReadOnly"
	// DatabaseFailed: the server refuses for another reason. Trying again is right.
	DatabaseFailed = "DatabaseFailed"
	// TableMissing: there is no such table.
	TableMissing = "TableMissing"
	// ColumnsMissing: the table lacks columns.
	ColumnsMissing = "ColumnsMissing"
	// ColumnsMistyped: columns have a type that cannot serve.
	ColumnsMistyped = "ColumnsMistyped"
	// PermissionDenied: the role lacks a grant.
	PermissionDenied = "PermissionDenied"
	// PoolingMismatch: a pooler in transaction mode where Config.Pooling says
	// SessionPooling.
	PoolingMismatch = "PoolingMismatch"
)

// Problem is an error of the database with the answer to the one question that
// callers have: what is to be mended. Its text holds no secret.
type Problem struct {
	// Code is one of the constants above.
	Code string
	// Slots name what the code is about: columns, as in the Relayfleet table, or
	// files of credentials.
	Slots []string
	// Err is what happened, never nil.
	Err error
}

func (p *Problem) Error() string { return p.Err.Error() }
func (p *Problem) Unwrap() error { return p.Err }

// Classify finds out what an error of this package, of rows or of schema is
// about. It is nil for nil.
func Classify(err error) *Problem {
	if err == nil {
		return nil
	}
	if problem, ok := errors.AsType[*Problem](err); ok {
		return &Problem{Code: problem.Code, Slots: problem.Slots, Err: err}
	}
	return &Problem{Code: code(err), Err: withoutConfig(err)}
}

// withoutConfig takes the outermost part of a failed connection attempt away:
// it carries the whole configuration, password included, for those who print
// an error's fields.
func withoutConfig(err error) error {
	if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return connect.Unwrap()
	}
	return err
}

// code asks the server's own words first: with several hosts in the URI an
// error may be several, and the one that answered knows more.
func code(err error) string {
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server) && server.Code == protocolViolation && strings.Contains(server.Message, "startup parameter"):
		return PoolingMismatch // A pooler refuses what it could not keep.
	case errors.As(err, &server):
		return codeOfState(server.Code)
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		return ReadOnly
	case isTLS(err):
		return TLSFailed
	case isNetwork(err):
		return Unreachable
	}
	return DatabaseFailed
}

const protocolViolation = "08P01"

// states says what an SQLSTATE is about; an entry of two characters stands for
// a whole class, and the longer one wins.
var states = map[string]string{
	"08":    Unreachable,          // connection exception
	"26000": PoolingMismatch,      // no such prepared statement: it was made in another session
	"42P05": PoolingMismatch,      // there is such a prepared statement: another connection made it in this session
	"28":    AuthenticationFailed, // 28P01 wrong password, 28000 no entry in pg_hba.conf
	"3D000": DatabaseMissing,
	"25006": ReadOnly, // read_only_sql_transaction
	"57P01": Unreachable,
	"57P02": Unreachable,
	"57P03": Unreachable, // the server is shutting down, has crashed, or is starting up
	"57P05": Unreachable, // idle_session_timeout
	"3F000": TableMissing,
	"42P01": TableMissing,
	"42703": ColumnsMissing,
	"42804": ColumnsMistyped, // datatype_mismatch
	"42846": ColumnsMistyped, // cannot_coerce
	"42883": ColumnsMistyped, // no such operator or function for these types
	"22P02": ColumnsMistyped, // a value that the type cannot take, such as a status of an enum
	"42501": PermissionDenied,
}

func codeOfState(state string) string {
	if code, ok := states[state]; ok {
		return code
	}
	if code, ok := states[state[:min(2, len(state))]]; ok {
		return code
	}
	return DatabaseFailed
}

// refusedTLS is how the driver says that the server speaks no TLS; it has no
// type of its own, so a test against such a server holds this text.
const refusedTLS = "server refused TLS connection"

func isTLS(err error) bool {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		op        *net.OpError
	)
	if errors.As(err, &op) && op.Op == "remote error" {
		return true // The server's alert, which has no type of its own.
	}
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) ||
		strings.Contains(err.Error(), refusedTLS)
}

func isNetwork(err error) bool {
	var network net.Error
	for _, broken := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return errors.As(err, &network) || pgconn.Timeout(err)
}
