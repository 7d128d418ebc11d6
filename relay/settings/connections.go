package settings

// Database says how to reach the outbox.
type Database struct {
	// URIFile holds a PostgreSQL connection URI with its password. It is read
	// at each new connection, and may be missing for a while.
	URIFile string `json:"uriFile"`
	TLS     TLS    `json:"tls,omitzero"`
	// Pooling is PoolingSession unless it is set.
	Pooling Pooling `json:"pooling,omitempty"`
}

// Pooling says what stands between the relay and the server.
type Pooling string

const (
	// PoolingSession: a connection keeps its server session. The default.
	PoolingSession Pooling = "Session"
	// PoolingTransaction: a pooler gives each transaction any session.
	PoolingTransaction Pooling = "Transaction"
)

// TLSMode says how much the server must prove, in PostgreSQL's words.
type TLSMode string

const (
	// TLSVerifyFull: encrypted, certificate and host name are checked. The default.
	TLSVerifyFull TLSMode = "VerifyFull"
	// TLSVerifyCA: encrypted, the certificate is checked, the host name is not.
	TLSVerifyCA TLSMode = "VerifyCA"
	// TLSRequire: encrypted, nothing is checked.
	TLSRequire TLSMode = "Require"
	// TLSDisable: not encrypted. Only for a database; a broker without TLS has no
	// TLS section.
	TLSDisable TLSMode = "Disable"
)

// TLS says what is asked of the server, and what the relay shows it.
type TLS struct {
	// Mode is one of the TLSMode values; unset: VerifyFull.
	Mode TLSMode `json:"mode,omitempty"`
	// CAFile holds the certificates to trust, PEM; unset: the system's.
	CAFile string `json:"caFile,omitempty"`
	// CertificateFile and PrivateKeyFile, PEM, are the relay's own; both or none.
	CertificateFile string `json:"certificateFile,omitempty"`
	PrivateKeyFile  string `json:"privateKeyFile,omitempty"`
}

// Kafka says how to reach the broker.
type Kafka struct {
	// BootstrapServers are host:port.
	BootstrapServers []string `json:"bootstrapServers"`
	// TLS is nil for connections without it.
	TLS *TLS `json:"tls,omitempty"`
	// Authentication is nil for connections without a login.
	Authentication *Authentication `json:"authentication,omitempty"`
	// Compression is LZ4 unless it is set.
	Compression Compression `json:"compression,omitempty"`
}

// Compression is how record batches are compressed.
type Compression string

// The compressions.
const (
	LZ4             Compression = "LZ4"
	Zstd            Compression = "Zstd"
	CompressionNone Compression = "None"
)

// Mechanism is a SASL mechanism.
type Mechanism string

// The mechanisms.
const (
	Plain       Mechanism = "PLAIN"
	ScramSHA256 Mechanism = "SCRAM-SHA-256"
	ScramSHA512 Mechanism = "SCRAM-SHA-512"
	OAuthBearer Mechanism = "OAUTHBEARER"
)

// Authentication says how the relay logs in to the broker. Its files are read at
// each new connection.
type Authentication struct {
	Type Mechanism `json:"type"`
	// Username, or the file that holds it; not for OAUTHBEARER.
	Username     string `json:"username,omitempty"`
	UsernameFile string `json:"usernameFile,omitempty"`
	// PasswordFile holds the password; not for OAUTHBEARER.
	PasswordFile string `json:"passwordFile,omitempty"`
	// OAuth is for OAUTHBEARER only.
	OAuth *OAuth `json:"oauth,omitempty"`
}

// OAuth is the client credentials grant of RFC 6749, section 4.4.
type OAuth struct {
	TokenEndpoint    string `json:"tokenEndpoint"`
	ClientID         string `json:"clientID"`
	ClientSecretFile string `json:"clientSecretFile"`
	// Scope and Audience are asked for when they are set.
	Scope    string `json:"scope,omitempty"`
	Audience string `json:"audience,omitempty"`
	// CAFile holds the certificates that the endpoint may show; unset: the system's.
	CAFile string `json:"caFile,omitempty"`
}
