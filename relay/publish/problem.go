package publish

import (
	"cmp"
	"fmt"
)

// Codes of a Problem. They are the words in which a relay reports the state of
// its broker.
const (
	// Unreachable: no connection, or it broke, or no answer came.
	Unreachable = "Unreachable"
	// TLSFailed: the broker's certificate was not accepted, or it speaks no TLS.
	TLSFailed = "TLSFailed"
	// AuthenticationFailed: the broker refused the login.
	AuthenticationFailed = "AuthenticationFailed"
	// TopicMissing: the broker knows no topic of that name.
	TopicMissing = "TopicMissing"
	// TopicForbidden: the broker does not let the relay write to the topic.
	TopicForbidden = "TopicForbidden"
	// BrokerFailed: the broker answers and refuses for another reason.
	BrokerFailed = "BrokerFailed"
)

// Problem says that the broker, or the fleet's topic, cannot be used. It is
// never about one record.
type Problem struct {
	// Code is one of the codes of this package.
	Code string
	// Err is what was met.
	Err error
}

func (p *Problem) Error() string { return fmt.Sprintf("%s: %v", p.Code, p.Err) }

func (p *Problem) Unwrap() error { return p.Err }

func problemOf(doing string, err error) *Problem {
	return &Problem{Code: cmp.Or(judge(err).code, BrokerFailed), Err: fmt.Errorf("%s: %w", doing, err)}
}
