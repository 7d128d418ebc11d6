package publish

import (
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// Compression is how record batches are compressed.
type Compression string

const (
	// LZ4 is the default: the least processor time and memory per record.
	LZ4 Compression = "lz4"
	// Zstd makes smaller batches for more processor time and memory.
	Zstd Compression = "zstd"
	// None sends records as they are.
	None Compression = "none"
)

// Config says where and how to publish. Servers are required.
type Config struct {
	// Servers are the bootstrap servers, host:port.
	Servers []string
	// Topic is the fleet's: where events go that name no topic of their own. Empty
	// where each names one.
	Topic string
	// ClientID names this relay in the broker's logs and quotas; unset: relayfleet.
	ClientID string
	// Compression of the record batches; unset: LZ4.
	Compression Compression
	// RequestTimeout is how long the broker may take to replicate a batch, and a
	// connection to be made; unset: 3 s. An answer is waited for 2 s longer.
	RequestTimeout time.Duration
	// RetryFor is how long, from its first failure, a batch is tried again
	// within one Publish, its deadline permitting; unset: 3 s.
	RetryFor time.Duration
	// Ordered: events of a key are published in the order of their batch, or not
	// at all.
	Ordered bool
	// Headers is the set of headers that every record gets; unset: Standard.
	Headers HeaderStyle
	// TLS is nil for connections that are not encrypted.
	TLS *TLS
	// Authentication is nil for connections without a login.
	Authentication *Authentication
	// Credentials are made of TLS and Authentication, for all producers of a relay;
	// nil: this producer has its own.
	Credentials *Credentials
	// Partitions is shared by all producers of a relay; nil: this producer has its own.
	Partitions *Partitions
	// MaxMessageBytes is the largest batch that a topic is taken to allow when it
	// does not tell; unset: 1 MiB, which is Kafka's own default.
	MaxMessageBytes int
}

const (
	defaultClientID       = "relayfleet"
	defaultRequestTimeout = 3 * time.Second
	defaultRetryFor       = 3 * time.Second
	defaultMessageBytes   = 1 << 20
	// answerMargin is what the network and a busy broker get beyond
	// RequestTimeout, so that the broker's own time-out is heard.
	answerMargin = 2 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	var errs []error
	if len(c.Servers) == 0 {
		errs = append(errs, errors.New("no bootstrap servers"))
	}
	if c.ClientID == "" {
		c.ClientID = defaultClientID
	}
	if c.Compression == "" {
		c.Compression = LZ4
	}
	if _, err := c.Compression.codec(); err != nil {
		errs = append(errs, err)
	}
	if c.Headers == "" {
		c.Headers = Standard
	}
	if c.Headers != Standard && c.Headers != Debezium {
		errs = append(errs, fmt.Errorf("unknown style of headers %q", string(c.Headers)))
	}
	if c.RequestTimeout <= 0 {
		c.RequestTimeout = defaultRequestTimeout
	}
	if c.RetryFor <= 0 {
		c.RetryFor = defaultRetryFor
	}
	if c.Partitions == nil {
		c.Partitions = NewPartitions(nil)
	}
	if c.MaxMessageBytes <= 0 {
		c.MaxMessageBytes = defaultMessageBytes
	}
	errs = append(errs, c.validateSecurity())
	return c, errors.Join(errs...)
}

func (c Compression) codec() (sarama.CompressionCodec, error) {
	switch c {
	case LZ4:
		return sarama.CompressionLZ4, nil
	case Zstd:
		return sarama.CompressionZSTD, nil
	case None:
		return sarama.CompressionNone, nil
	default:
		return 0, fmt.Errorf("unknown compression %q", string(c))
	}
}

// sarama returns the library's configuration for one session behind g, which
// logs in with l. Nothing
// in it retries, sleeps or works in the background: what is tried again, and
// when, is decided here, where the deadline is known.
func (c Config) sarama(g *gate, l *login) *sarama.Config {
	s := sarama.NewConfig()
	s.ClientID = c.ClientID
	s.Version = sarama.V3_9_0_0 // the oldest that is supported; lower request versions are negotiated
	s.Net.Proxy.Enable = true
	s.Net.Proxy.Dialer = g
	s.Net.MaxOpenRequests = 1
	s.Net.DialTimeout = c.RequestTimeout
	s.Net.ReadTimeout = c.RequestTimeout + answerMargin
	s.Net.WriteTimeout = c.RequestTimeout + answerMargin
	l.configure(s)
	s.Metadata.Full = false
	s.Metadata.AllowAutoTopicCreation = false
	s.Metadata.SingleFlight = false
	s.Metadata.RefreshFrequency = 0
	s.Metadata.Retry.Max = 0
	s.Metadata.Timeout = c.RequestTimeout + answerMargin
	return s
}
