package outbox_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/report"
)

func TestClassify(t *testing.T) {
	server := func(state string) error { return &pgconn.PgError{Severity: "ERROR", Code: state, Message: "no"} }
	for _, test := range []struct {
		err  error
		code string
	}{
		{server("28P01"), outbox.AuthenticationFailed},
		{server("28000"), outbox.AuthenticationFailed},
		{server("3D000"), outbox.DatabaseMissing},
		{server("25006"), outbox.ReadOnly},
		{server("08006"), outbox.Unreachable},
		{server("57P01"), outbox.Unreachable},
		{server("57P02"), outbox.Unreachable},
		{server("57P03"), outbox.Unreachable},
		{server("57P05"), outbox.Unreachable},
		{server("3F000"), outbox.TableMissing},
		{server("42P01"), outbox.TableMissing},
		{server("42703"), outbox.ColumnsMissing},
		{server("42804"), outbox.ColumnsMistyped},
		{server("42846"), outbox.ColumnsMistyped},
		{server("42883"), outbox.ColumnsMistyped},
		{server("22P02"), outbox.ColumnsMistyped},
		{server("42501"), outbox.PermissionDenied},
		{server("57014"), outbox.DatabaseFailed}, // statement_timeout
		{server("53300"), outbox.DatabaseFailed}, // too many connections
		{server(""), outbox.DatabaseFailed},
		{pgconn.ErrReadOnlyConnection, outbox.ReadOnly},
		{x509.UnknownAuthorityError{}, outbox.TLSFailed},
		{x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}, outbox.TLSFailed},
		{x509.CertificateInvalidError{Cert: &x509.Certificate{}}, outbox.TLSFailed},
		{&tls.CertificateVerificationError{Err: errors.New("no")}, outbox.TLSFailed},
		{tls.RecordHeaderError{Msg: "no"}, outbox.TLSFailed},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(40)}, outbox.TLSFailed},
		{errors.New("server refused TLS connection"), outbox.TLSFailed},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, outbox.Unreachable},
		{&net.DNSError{Err: "no such host", Name: "h"}, outbox.Unreachable},
		{io.EOF, outbox.Unreachable},
		{io.ErrUnexpectedEOF, outbox.Unreachable},
		{net.ErrClosed, outbox.Unreachable},
		{os.ErrDeadlineExceeded, outbox.Unreachable},
		{context.DeadlineExceeded, outbox.Unreachable},
		{context.Canceled, outbox.Unreachable},
		{pgconn.ErrConnClosed, outbox.Unreachable},
		{errors.New("something else"), outbox.DatabaseFailed},
		{&outbox.Problem{Code: outbox.TLSTooWeak, Err: errors.New("no")}, outbox.TLSTooWeak},
	} {
		problem := outbox.Classify(fmt.Errorf("do: %w", test.err))
		require.Equal(t, test.code, problem.Code, test.err)
		require.Contains(t, report.Codes(), report.Code(problem.Code))
		require.ErrorIs(t, problem, test.err)
	}
	require.Nil(t, outbox.Classify(nil))
}

// Of several hosts one may be down and another answer: the answer counts.
func TestClassifyPrefersTheServersWords(t *testing.T) {
	both := errors.Join(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, &pgconn.PgError{Code: "28P01"})
	require.Equal(t, outbox.AuthenticationFailed, outbox.Classify(both).Code)
}

func TestClassifyKeepsSlots(t *testing.T) {
	problem := outbox.Classify(fmt.Errorf("check: %w",
		&outbox.Problem{Code: outbox.ColumnsMissing, Slots: []string{"id"}, Err: errors.New("no")}))
	require.Equal(t, []string{"id"}, problem.Slots)
}
