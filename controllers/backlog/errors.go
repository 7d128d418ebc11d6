package backlog

import "errors"

// Why a relay has not answered; the text of the error beneath is for the log.
var (
	// ErrUnreachable: no connection, or no answer in time.
	ErrUnreachable = errors.New("unreachable")
	// ErrRefused: an answer that is no report: another status, a redirect.
	ErrRefused = errors.New("no report is served")
	// ErrMalformed: too large, not readable, or of another version.
	ErrMalformed = errors.New("malformed report")
	// ErrForeign: a report of another pod or another resource.
	ErrForeign = errors.New("report of somebody else")
)
