package publish

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/IBM/sarama"
)

// handshakeError wraps what happened to a connection that ended, or went wrong,
// before the broker's first answer where TLS is the likely reason. Nothing was
// sent that a broker acts on.
type handshakeError struct{ error }

func (e handshakeError) Unwrap() error { return e.error }

var (
	errNoTLS    = errors.New("the connection ended in the TLS handshake: the port may not speak TLS")
	errRejected = errors.New("the connection ended after the TLS handshake: the broker may want another client certificate")
	errIsTLS    = errors.New("the port speaks TLS")
	errNotKafka = errors.New("the port does not speak Kafka's protocol")
)

// handshake secures a connection and closes it when that fails.
func handshake(ctx context.Context, conn net.Conn, settings *tls.Config, address string) (net.Conn, error) {
	settings = settings.Clone()
	settings.ServerName, _, _ = net.SplitHostPort(address) // Dialed already.
	secure := tls.Client(conn, settings)
	err := secure.HandshakeContext(ctx)
	if err == nil {
		return &checkedConn{Conn: secure, secure: true}, nil
	}
	_ = conn.Close()
	if isBrokenOff(err) {
		err = handshakeError{fmt.Errorf("%w: %w", errNoTLS, err)}
	}
	return nil, err
}

// isBrokenOff: the other side ended the connection, without saying why.
func isBrokenOff(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &op) && (op.Op == "read" || op.Op == "write") && !op.Timeout() && !errors.Is(err, net.ErrClosed)
}

// checkedConn looks at the beginning of what the broker says. A length that no
// answer has would otherwise be believed, and that much memory be taken.
type checkedConn struct {
	net.Conn
	secure bool
	head   []byte
	err    error
}

// lengthBytes is the length of the length in front of every answer.
const lengthBytes = 4

func (c *checkedConn) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.Conn.Read(p)
	if missing := lengthBytes - len(c.head); missing > 0 {
		c.head = append(c.head, p[:min(n, missing)]...)
		if c.err = c.check(err); c.err != nil {
			return 0, c.err
		}
	}
	return n, err
}

// check answers what is wrong, given what has arrived and how that ended.
func (c *checkedConn) check(err error) error {
	switch {
	case len(c.head) >= 2 && c.head[0] == 21 && c.head[1] == 3: // An alert of TLS, as a length of more than 300 MiB.
		return handshakeError{fmt.Errorf("%w: %w", errIsTLS, io.ErrUnexpectedEOF)}
	case len(c.head) == lengthBytes && binary.BigEndian.Uint32(c.head) > uint32(sarama.MaxResponseSize): //nolint:gosec // Positive.
		return fmt.Errorf("%w: %w", errNotKafka, io.ErrUnexpectedEOF)
	case c.secure && len(c.head) == 0 && err != nil && isBrokenOff(err):
		return handshakeError{fmt.Errorf("%w: %w", errRejected, err)}
	}
	return nil
}
