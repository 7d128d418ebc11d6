package outbox

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// TLSMode says how much the server must prove.
type TLSMode string

const (
	// TLSVerifyFull: encrypted, certificate and host name are checked. The default.
	TLSVerifyFull TLSMode = "VerifyFull"
	// TLSVerifyCA: encrypted, the certificate is checked, the host name is not.
	TLSVerifyCA TLSMode = "VerifyCA"
	// TLSRequire: encrypted, nothing is checked.
	TLSRequire TLSMode = "Require"
	// TLSDisable: not encrypted.
	TLSDisable TLSMode = "Disable"
)

// strengths orders the modes from the weakest to the strongest.
var strengths = []TLSMode{TLSDisable, TLSRequire, TLSVerifyCA, TLSVerifyFull}

// strength is the place of m in strengths.
func (m TLSMode) strength() int { return slices.Index(strengths, m) }

// Pooling says what stands between the relay and the server.
type Pooling string

const (
	// SessionPooling: a connection stays with one server session. The default.
	SessionPooling Pooling = "Session"
	// TransactionPooling: a pooler gives each transaction any session, so that
	// neither prepared statements nor session settings last.
	TransactionPooling Pooling = "Transaction"
)

// Config says how to reach the database. It holds no secret, only the paths of
// files that do.
type Config struct {
	// URIFile holds a PostgreSQL connection URI (postgres://user:password@host/database).
	// It need not exist yet.
	URIFile string
	// TLSMode is what is asked of the server, whatever the URI says; a URI that
	// asks for less is refused. Unset: TLSVerifyFull.
	TLSMode TLSMode
	// CAFile holds the certificates to trust, PEM. Unset: the system's.
	CAFile string
	// CertificateFile and PrivateKeyFile, PEM, are what the relay shows the server;
	// both or none.
	CertificateFile, PrivateKeyFile string
	// ApplicationName is seen in pg_stat_activity. Unset: relayfleet.
	ApplicationName string
	// Pooling is SessionPooling unless it is set.
	Pooling Pooling
	// MaxConnections bounds the pool. Unset: 8.
	MaxConnections int
	// ConnectTimeout bounds a connection attempt to one address. Unset: 5 s.
	ConnectTimeout time.Duration
	// StatementTimeout is the server's own limit for a statement, so that the
	// server gives up before the relay does. Unset: 5 s.
	StatementTimeout time.Duration
	// LockTimeout is the server's limit for waiting for a lock. Unset: 2 s.
	LockTimeout time.Duration
}

const (
	defaultApplicationName  = "relayfleet"
	defaultMaxConnections   = 8
	defaultConnectTimeout   = 5 * time.Second
	defaultStatementTimeout = 5 * time.Second
	defaultLockTimeout      = 2 * time.Second
)

func (c Config) withDefaults() Config {
	setDefault(&c.TLSMode, TLSVerifyFull)
	setDefault(&c.ApplicationName, defaultApplicationName)
	setDefault(&c.Pooling, SessionPooling)
	setDefault(&c.MaxConnections, defaultMaxConnections)
	setDefault(&c.ConnectTimeout, defaultConnectTimeout)
	setDefault(&c.StatementTimeout, defaultStatementTimeout)
	setDefault(&c.LockTimeout, defaultLockTimeout)
	return c
}

// maxConnections keeps the pool, whose size is an int32, from being overflowed.
const maxConnections = 1000

func (c Config) validate() error {
	var problems []error
	if c.URIFile == "" {
		problems = append(problems, errors.New("URIFile is not set"))
	}
	if c.TLSMode.strength() < 0 {
		problems = append(problems, fmt.Errorf("TLSMode %q is not known", c.TLSMode))
	}
	if (c.CertificateFile == "") != (c.PrivateKeyFile == "") {
		problems = append(problems, errors.New("CertificateFile and PrivateKeyFile belong together"))
	}
	if c.TLSMode == TLSDisable && c.CertificateFile != "" {
		problems = append(problems, errors.New("CertificateFile is of no use with TLSMode Disable"))
	}
	if c.Pooling != SessionPooling && c.Pooling != TransactionPooling {
		problems = append(problems, fmt.Errorf("Pooling %q is not known", c.Pooling))
	}
	if c.MaxConnections < 1 || c.MaxConnections > maxConnections {
		problems = append(problems, fmt.Errorf("MaxConnections %d is not between 1 and %d", c.MaxConnections, maxConnections))
	}
	if c.ConnectTimeout <= 0 || c.StatementTimeout < time.Millisecond || c.LockTimeout < time.Millisecond {
		problems = append(problems, errors.New("a timeout is not positive"))
	}
	return errors.Join(problems...)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
