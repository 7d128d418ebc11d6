package publish

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Each row of the table, named, so that a change of one is a decision.
func TestClassify(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	reset := &net.OpError{Op: "read", Err: errors.New("connection reset")}
	for _, row := range []struct {
		err   error
		class Class
		code  string
	}{
		{sarama.ErrMessageSizeTooLarge, ClassEvent, ""},
		{sarama.ErrMessageSetSizeTooLarge, ClassEvent, ""},
		{sarama.ErrInvalidRecord, ClassEvent, ""},
		{sarama.ErrPolicyViolation, ClassEvent, ""},
		{sarama.ErrUnsupportedForMessageFormat, ClassEvent, ""},
		{sarama.PacketEncodingError{Info: "too large"}, ClassEvent, ""},
		{unsentError{sarama.PacketEncodingError{Info: "too large"}}, ClassEvent, ""},

		{sarama.ErrNotLeaderForPartition, ClassUnknown, BrokerFailed},
		{sarama.ErrKafkaStorageError, ClassUnknown, BrokerFailed},
		{sarama.ErrNotEnoughReplicasAfterAppend, ClassUnknown, BrokerFailed},
		{sarama.ErrRequestTimedOut, ClassUnknown, BrokerFailed},
		{sarama.ErrUnknown, ClassUnknown, BrokerFailed},
		{sarama.ErrNetworkException, ClassUnknown, Unreachable},
		{sarama.KError(32000), ClassUnknown, BrokerFailed},
		{sarama.ErrIncompleteResponse, ClassUnknown, BrokerFailed},
		{sarama.PacketDecodingError{Info: "nonsense"}, ClassUnknown, Unreachable},
		{io.EOF, ClassUnknown, Unreachable},
		{reset, ClassUnknown, Unreachable},
		{context.DeadlineExceeded, ClassUnknown, Unreachable},
		{errNoAnswer, ClassUnknown, Unreachable},
		{errors.New("never heard of"), ClassUnknown, Unreachable},

		{sarama.ErrNotEnoughReplicas, ClassBroker, BrokerFailed},
		{sarama.ErrLeaderNotAvailable, ClassBroker, BrokerFailed},
		{sarama.ErrReplicaNotAvailable, ClassBroker, BrokerFailed},
		{sarama.ErrBrokerNotAvailable, ClassBroker, BrokerFailed},
		{sarama.ErrNotController, ClassBroker, BrokerFailed},
		{sarama.ErrFencedLeaderEpoch, ClassBroker, BrokerFailed},
		{sarama.ErrUnknownLeaderEpoch, ClassBroker, BrokerFailed},
		{sarama.ErrThrottlingQuotaExceeded, ClassBroker, BrokerFailed},
		{sarama.ErrInvalidMessage, ClassBroker, BrokerFailed},
		{sarama.ErrOffsetsLoadInProgress, ClassBroker, BrokerFailed},
		{sarama.ErrConsumerCoordinatorNotAvailable, ClassBroker, BrokerFailed},
		{sarama.ErrNotCoordinatorForConsumer, ClassBroker, BrokerFailed},
		{sarama.ErrOutOfOrderSequenceNumber, ClassBroker, BrokerFailed},
		{sarama.ErrUnknownProducerID, ClassBroker, BrokerFailed},
		{sarama.ErrInvalidProducerEpoch, ClassBroker, BrokerFailed},
		{sarama.ErrProducerFenced, ClassBroker, BrokerFailed},
		{refused, ClassBroker, Unreachable},
		{unsentError{reset}, ClassBroker, Unreachable},
		{errCut, ClassBroker, Unreachable},
		{sarama.ErrOutOfBrokers, ClassBroker, Unreachable},
		{sarama.ErrNotConnected, ClassBroker, Unreachable},
		{sarama.ErrBrokerNotFound, ClassBroker, Unreachable},
		{sarama.ErrClosedClient, ClassBroker, Unreachable},

		{sarama.ErrUnknownTopicOrPartition, ClassConfig, TopicMissing},
		{sarama.ErrInvalidTopic, ClassConfig, TopicMissing},
		{sarama.ErrTopicAuthorizationFailed, ClassConfig, TopicForbidden},
		{sarama.ErrClusterAuthorizationFailed, ClassConfig, TopicForbidden},
		{sarama.ErrSASLAuthenticationFailed, ClassConfig, AuthenticationFailed},
		{sarama.ErrUnsupportedSASLMechanism, ClassConfig, AuthenticationFailed},
		{sarama.ErrIllegalSASLState, ClassConfig, AuthenticationFailed},
		{sarama.ErrSecurityDisabled, ClassConfig, AuthenticationFailed},
		{sarama.ErrUnsupportedVersion, ClassConfig, BrokerFailed},
		{sarama.ErrUnsupportedCompressionType, ClassConfig, BrokerFailed},
		{sarama.ErrInvalidRequiredAcks, ClassConfig, BrokerFailed},
		{sarama.ErrInvalidRequest, ClassConfig, BrokerFailed},
		{sarama.ErrInvalidTimestamp, ClassConfig, BrokerFailed},
		{x509.UnknownAuthorityError{}, ClassConfig, TLSFailed},
		{x509.HostnameError{Certificate: &x509.Certificate{}}, ClassConfig, TLSFailed},
		{x509.CertificateInvalidError{Cert: &x509.Certificate{}}, ClassConfig, TLSFailed},
		{tls.AlertError(40), ClassConfig, TLSFailed},
		{unsentError{tls.RecordHeaderError{Msg: "no TLS"}}, ClassConfig, TLSFailed},
	} {
		wrapped := fmt.Errorf("around: %w", errors.Join(errors.New("beside"), row.err))
		require.Equal(t, row.class, Classify(wrapped), "%v", row.err)
		require.Equal(t, row.code, judge(wrapped).code, "%v", row.err)
	}
}

// Every verdict can be carried out: a culprit has an outcome, the rest a code.
func TestVerdictsAreWhole(t *testing.T) {
	for answer, v := range answers {
		if v.class == ClassEvent {
			require.Contains(t, []event.OutcomeKind{event.Refused, event.Rejected}, v.kind, "%v", answer)
			require.NotEmpty(t, v.reason, "%v", answer)
		} else {
			require.NotEmpty(t, v.code, "%v", answer)
		}
		require.True(t, !v.renew || v.class == ClassBroker, "%v", answer)
	}
}
