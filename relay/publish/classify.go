package publish

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"github.com/IBM/sarama"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Class answers the question that an error of the broker raises: what became of
// the records, and who has to do something about it.
type Class int

const (
	// ClassUnknown: the records may have been appended. A delivery sends the same
	// batch with the same sequence again, which the broker recognises; without a
	// clear answer in the end the rows keep their lease. It is the class of every
	// error that the table does not know.
	ClassUnknown Class = iota
	// ClassEvent: nothing was appended, because of a record. A delivery looks for the
	// culprit; only it is charged.
	ClassEvent
	// ClassBroker: nothing was appended, because of the state of the cluster. A
	// delivery tries again for a while; then the rows are given back uncharged
	// and the relay pauses and probes.
	ClassBroker
	// ClassConfig: nothing was appended, and nothing will be until somebody changes
	// something. For the fleet's topic as ClassBroker, but without trying again; for
	// the row's own topic the row is refused and the others go on.
	ClassConfig
)

// Classify says what err means. It is about an error of the broker or of the
// way to it, never about a context.
func Classify(err error) Class { return judge(err).class }

// verdict is a row of the table.
type verdict struct {
	class Class
	// code is that of the Problem, where it becomes one.
	code string
	// kind and reason are the culprit's outcome, in ClassEvent.
	kind   event.OutcomeKind
	reason string
	// renew: the broker accepts nothing more from this producer id.
	renew bool
	// again: the answer may come from a broker that has not heard the news, so
	// that even ClassConfig is tried again.
	again bool
}

// answers holds a row for each answer of a broker that means something here.
// Where Kafka can give the same answer before and after it has appended, the row
// says ClassUnknown: a sequence number that may be used is never used for other
// records, or the broker would drop those as duplicates.
var answers = map[sarama.KError]verdict{
	// About a record.
	sarama.ErrMessageSizeTooLarge: {
		class: ClassEvent, kind: event.Rejected, reason: "the record is larger than the topic allows",
	},
	sarama.ErrMessageSetSizeTooLarge: {
		class: ClassEvent, kind: event.Rejected, reason: "the record is larger than a segment of the topic",
	},
	sarama.ErrInvalidRecord: {
		class: ClassEvent, kind: event.Rejected, reason: "the broker finds the record invalid",
	},
	sarama.ErrPolicyViolation: {
		class: ClassEvent, kind: event.Rejected, reason: "the record violates a policy of the broker",
	},
	// The format is the topic's: an upgrade of the topic cures it.
	sarama.ErrUnsupportedForMessageFormat: {
		class: ClassEvent, kind: event.Refused, reason: "the topic's message format does not allow the record",
	},

	// Appended or not: nobody knows. The first three also come from a leader that
	// had appended and lost its role, its log or its followers while it waited.
	sarama.ErrNotLeaderForPartition:        {class: ClassUnknown, code: BrokerFailed},
	sarama.ErrKafkaStorageError:            {class: ClassUnknown, code: BrokerFailed},
	sarama.ErrNotEnoughReplicasAfterAppend: {class: ClassUnknown, code: BrokerFailed},
	sarama.ErrRequestTimedOut:              {class: ClassUnknown, code: BrokerFailed},
	sarama.ErrUnknown:                      {class: ClassUnknown, code: BrokerFailed},
	sarama.ErrNetworkException:             {class: ClassUnknown, code: Unreachable},

	// Not appended: the cluster is not able to.
	sarama.ErrNotEnoughReplicas:               {class: ClassBroker, code: BrokerFailed},
	sarama.ErrLeaderNotAvailable:              {class: ClassBroker, code: BrokerFailed},
	sarama.ErrReplicaNotAvailable:             {class: ClassBroker, code: BrokerFailed},
	sarama.ErrBrokerNotAvailable:              {class: ClassBroker, code: BrokerFailed},
	sarama.ErrNotController:                   {class: ClassBroker, code: BrokerFailed},
	sarama.ErrFencedLeaderEpoch:               {class: ClassBroker, code: BrokerFailed},
	sarama.ErrUnknownLeaderEpoch:              {class: ClassBroker, code: BrokerFailed},
	sarama.ErrThrottlingQuotaExceeded:         {class: ClassBroker, code: BrokerFailed},
	sarama.ErrInvalidMessage:                  {class: ClassBroker, code: BrokerFailed},
	sarama.ErrOffsetsLoadInProgress:           {class: ClassBroker, code: BrokerFailed},
	sarama.ErrConsumerCoordinatorNotAvailable: {class: ClassBroker, code: BrokerFailed},
	sarama.ErrNotCoordinatorForConsumer:       {class: ClassBroker, code: BrokerFailed},

	// Not appended: the broker has forgotten or fenced the producer id.
	sarama.ErrOutOfOrderSequenceNumber: {class: ClassBroker, code: BrokerFailed, renew: true},
	sarama.ErrUnknownProducerID:        {class: ClassBroker, code: BrokerFailed, renew: true},
	sarama.ErrInvalidProducerEpoch:     {class: ClassBroker, code: BrokerFailed, renew: true},
	sarama.ErrProducerFenced:           {class: ClassBroker, code: BrokerFailed, renew: true},

	// Not appended: somebody has to change something.
	sarama.ErrUnknownTopicOrPartition:    {class: ClassConfig, code: TopicMissing, again: true},
	sarama.ErrInvalidTopic:               {class: ClassConfig, code: TopicMissing},
	sarama.ErrTopicAuthorizationFailed:   {class: ClassConfig, code: TopicForbidden},
	sarama.ErrClusterAuthorizationFailed: {class: ClassConfig, code: TopicForbidden},
	sarama.ErrSASLAuthenticationFailed:   {class: ClassConfig, code: AuthenticationFailed},
	sarama.ErrUnsupportedSASLMechanism:   {class: ClassConfig, code: AuthenticationFailed},
	sarama.ErrIllegalSASLState:           {class: ClassConfig, code: AuthenticationFailed},
	sarama.ErrSecurityDisabled:           {class: ClassConfig, code: AuthenticationFailed},
	sarama.ErrUnsupportedVersion:         {class: ClassConfig, code: BrokerFailed},
	sarama.ErrUnsupportedCompressionType: {class: ClassConfig, code: BrokerFailed},
	sarama.ErrInvalidRequiredAcks:        {class: ClassConfig, code: BrokerFailed},
	sarama.ErrInvalidRequest:             {class: ClassConfig, code: BrokerFailed},
	// The relay stamps every record with its own clock, so a refused time is
	// about that clock and would condemn all rows alike.
	sarama.ErrInvalidTimestamp: {class: ClassConfig, code: BrokerFailed},
}

// unsentError wraps what happened before a request was complete on the wire: a
// broker acts on complete requests only.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

func judge(err error) verdict {
	var answer sarama.KError
	var unsent unsentError
	var encoding sarama.PacketEncodingError
	var credentials *Problem
	switch {
	case errors.As(err, &credentials):
		return credentials.verdict()
	case errors.Is(err, sarama.ErrSASLAuthenticationFailed):
		// With the broker's own words beside it, it cannot be found as an answer.
		return answers[sarama.ErrSASLAuthenticationFailed]
	case errors.As(err, &answer):
		if v, ok := answers[answer]; ok {
			return v
		}
		return verdict{class: ClassUnknown, code: BrokerFailed}
	case isTLS(err):
		return verdict{class: ClassConfig, code: TLSFailed}
	case errors.As(err, new(handshakeError)):
		return verdict{class: ClassBroker, code: TLSFailed}
	case errors.As(err, &encoding):
		return verdict{class: ClassEvent, kind: event.Rejected, reason: "the record does not fit into a request"}
	case errors.As(err, &unsent), isBeforeSending(err):
		return verdict{class: ClassBroker, code: Unreachable}
	case errors.Is(err, sarama.ErrIncompleteResponse):
		return verdict{class: ClassUnknown, code: BrokerFailed}
	default:
		return verdict{class: ClassUnknown, code: Unreachable}
	}
}

// verdict is about a connection that could not be made.
func (p *Problem) verdict() verdict {
	if p.Code == Unreachable {
		return verdict{class: ClassBroker, code: p.Code}
	}
	return verdict{class: ClassConfig, code: p.Code}
}

func isTLS(err error) bool {
	var (
		record    tls.RecordHeaderError
		alert     tls.AlertError
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		op        *net.OpError
	)
	if errors.As(err, &op) && op.Op == "remote error" {
		return true // The other side's alert, which has no type of its own.
	}
	return errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &verify) ||
		errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}

// isBeforeSending: there was no connection, so nothing can have been sent.
func isBeforeSending(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	for _, before := range []error{
		errCut, sarama.ErrOutOfBrokers, sarama.ErrNotConnected, sarama.ErrBrokerNotFound, sarama.ErrClosedClient,
	} {
		if errors.Is(err, before) {
			return true
		}
	}
	return false
}
