package publish

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/IBM/sarama"
)

// Codes of a Problem. They are the words in which a relay reports the state of
// its broker.
const (
	// Unreachable: no connection, or it broke, or no answer came.
	Unreachable = "Unreachable"
	// CredentialsMissing: a file with credentials is not there, or is empty.
	CredentialsMissing = "CredentialsMissing"
	// CredentialsInvalid: a file's content is not what it should be.
	CredentialsInvalid = "CredentialsInvalid"
	// TLSFailed: the broker's certificate was not accepted, or it speaks no TLS.
	TLSFailed = "TLSFailed"
	// AuthenticationFailed: the broker refused the login, or the token endpoint the
	// client.
	AuthenticationFailed = "AuthenticationFailed"
	// TopicMissing: the broker knows no topic of that name.
	TopicMissing = "TopicMissing"
	// TopicForbidden: the broker does not let the relay write to the topic.
	TopicForbidden = "TopicForbidden"
	// BrokerFailed: the broker answers and refuses for another reason.
	BrokerFailed = "BrokerFailed"
)

// Problem says that the broker, or the fleet's topic, cannot be used. It is
// never about one record, and its text holds no secret.
type Problem struct {
	// Code is one of the codes of this package.
	Code string
	// Slots name the credentials that the code is about, as far as that is known.
	Slots []string
	// Err is what was met.
	Err error
}

func (p *Problem) Error() string { return fmt.Sprintf("%s: %v", p.Code, p.Err) }

func (p *Problem) Unwrap() error { return p.Err }

func problemOf(doing string, err error) *Problem {
	if inner, ok := errors.AsType[*Problem](err); ok {
		return &Problem{Code: inner.Code, Slots: inner.Slots, Err: fmt.Errorf("%s: %w", doing, inner.Err)}
	}
	if errors.Is(err, sarama.ErrSASLAuthenticationFailed) {
		err = sarama.ErrSASLAuthenticationFailed // The broker's own words could quote what it was sent.
	}
	return &Problem{Code: cmp.Or(judge(err).code, BrokerFailed), Err: fmt.Errorf("%s: %w", doing, err)}
}
