package outbox

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// credentials are the files' content at one moment.
type credentials struct{ uri, ca, certificate, key string }

// readCredentials reads the files. The URI is allowed the newline that editors
// and kubectl leave behind it.
func (c Config) readCredentials() (credentials, error) {
	uri, err := readFile(SlotURI, "connection URI", c.URIFile)
	if err != nil {
		return credentials{}, err
	}
	found := credentials{uri: uri}
	for _, f := range []struct {
		content          *string
		slot, what, path string
	}{
		{&found.ca, SlotCA, "CA certificates", c.CAFile},
		{&found.certificate, SlotCertificate, "certificate", c.CertificateFile},
		{&found.key, SlotKey, "private key", c.PrivateKeyFile},
	} {
		if f.path == "" {
			continue
		}
		if *f.content, err = readFile(f.slot, f.what, f.path); err != nil {
			return credentials{}, err
		}
	}
	return found, nil
}

// The slots of CredentialsMissing and CredentialsInvalid: which of the files it
// is about.
const (
	SlotURI         = "uri"
	SlotCA          = "ca"
	SlotCertificate = "certificate"
	SlotKey         = "key"
)

func readFile(slot, what, path string) (string, error) {
	data, err := os.ReadFile(path) //nolint:gosec // The path is the operator's or the user's own choice.
	if err != nil {
		return "", &Problem{Code: CredentialsMissing, Slots: []string{slot}, Err: fmt.Errorf("read %s: %w", what, err)}
	}
	content := string(bytes.TrimSpace(data))
	if content == "" {
		return "", &Problem{Code: CredentialsMissing, Slots: []string{slot}, Err: fmt.Errorf("read %s: %s is empty", what, path)}
	}
	return content, nil
}

// sslKeys are the ways in which a URI asks for TLS.
var sslKeys = []string{"sslmode", "ssl"}

// allowedKeys are what a URI may say. Not among them are the keys that make the
// driver read files (certificates, password and service files): a URI is a
// Secret's content, and the relay's files are not its to choose.
var allowedKeys = []string{
	"host", "port", "user", "password", "dbname", "connect_timeout", "target_session_attrs", "application_name",
	"channel_binding", "require_auth", "sslnegotiation", "sslsni", "options", "client_encoding", "search_path",
	"min_protocol_version", "max_protocol_version", "sslmode", "ssl",
}

// errURI is all that is ever said of a URI that cannot be read: the driver's
// own error quotes it, and what it quotes may be the password.
var errURI = &Problem{Code: CredentialsInvalid, Err: errors.New(
	"the connection URI is not of the form postgres://user:password@host:port/database, or has a parameter that is not supported")}

// connection turns credentials into what the driver needs.
func (c Config) connection(found credentials) (*pgx.ConnConfig, error) {
	if !strings.HasPrefix(found.uri, "postgres://") && !strings.HasPrefix(found.uri, "postgresql://") {
		return nil, errURI
	}
	parsed, err := parseURI(found.uri, allowedKeys)
	if err != nil || !isPlausible(found.uri, parsed) {
		return nil, errURI
	}
	if c.asksForLess(found.uri, parsed) {
		return nil, &Problem{Code: TLSTooWeak, Err: fmt.Errorf("the connection URI asks for less TLS than %s", c.TLSMode)}
	}
	if err := c.setTLS(parsed, found); err != nil {
		return nil, err
	}
	c.setSession(parsed)
	return parsed, nil
}

func parseURI(uri string, keys []string) (*pgx.ConnConfig, error) {
	return pgx.ParseConfigWithOptions(uri, pgx.ParseConfigOptions{
		ParseConfigOptions: pgconn.ParseConfigOptions{ConnStringAllowedKeys: keys},
	})
}

// isPlausible finds the URIs that the driver reads otherwise than they were
// meant. A password with a character that should have been encoded ends up as
// part of host or database, and would be printed as such; a user that is not
// named would be the process's own.
func isPlausible(uri string, parsed *pgx.ConnConfig) bool {
	if namesNone(uri, "user") || namesNone(uri, "host") || strings.ContainsAny(parsed.Database, "@/") {
		return false
	}
	for _, host := range hosts(parsed) {
		if network, _ := pgconn.NetworkAddress(host.Host, host.Port); network == "tcp" && !hostName.MatchString(host.Host) {
			return false
		}
	}
	return true
}

// hostName is a name or an address; an IPv6 address may have a zone.
var hostName = regexp.MustCompile(`^[A-Za-z0-9._:-]+(%[A-Za-z0-9._-]+)?$`)

// namesNone tells whether the URI says nothing under these keys. It is seen by
// forbidding them: only the driver's own parser knows for sure what a URI says.
func namesNone(uri string, keys ...string) bool {
	others := slices.DeleteFunc(slices.Clone(allowedKeys), func(key string) bool { return slices.Contains(keys, key) })
	_, err := parseURI(uri, others)
	return err == nil
}

// hosts are those that the URI names, without the second attempts, at another
// TLS mode, that the driver adds.
func hosts(parsed *pgx.ConnConfig) []*pgconn.FallbackConfig {
	list := []*pgconn.FallbackConfig{{Host: parsed.Host, Port: parsed.Port}}
	for _, next := range parsed.Fallbacks {
		if last := list[len(list)-1]; next.Host != last.Host || next.Port != last.Port {
			list = append(list, &pgconn.FallbackConfig{Host: next.Host, Port: next.Port})
		}
	}
	return list
}

// asksForLess tells whether the URI itself names a weaker mode than the
// configuration.
func (c Config) asksForLess(uri string, parsed *pgx.ConnConfig) bool {
	return !namesNone(uri, sslKeys...) && asked(parsed).strength() < c.TLSMode.strength()
}

// asked reads the mode of a URI off what the driver made of it. The modes that
// allow plain text, prefer and allow, count as Disable.
func asked(parsed *pgx.ConnConfig) TLSMode {
	settings := parsed.TLSConfig
	for _, fallback := range parsed.Fallbacks {
		if fallback.TLSConfig == nil {
			settings = nil
		}
	}
	switch {
	case settings == nil:
		return TLSDisable
	case !settings.InsecureSkipVerify:
		return TLSVerifyFull
	case settings.VerifyPeerCertificate != nil:
		return TLSVerifyCA
	}
	return TLSRequire
}

// setTLS replaces whatever TLS the URI led to, on every host that it names. A
// socket in the file system has none, so it can serve TLSDisable only.
func (c Config) setTLS(parsed *pgx.ConnConfig, found credentials) error {
	roots, err := certificates(found.ca)
	if err != nil {
		return err
	}
	own, err := found.pair()
	if err != nil {
		return err
	}
	named := hosts(parsed)
	for _, host := range named {
		if network, _ := pgconn.NetworkAddress(host.Host, host.Port); network == "unix" && c.TLSMode != TLSDisable {
			return &Problem{Code: TLSTooWeak, Err: fmt.Errorf("the connection URI names a socket, which cannot serve %s", c.TLSMode)}
		}
		host.TLSConfig = c.tls(host.Host, roots)
		if host.TLSConfig != nil {
			host.TLSConfig.Certificates = own
			if parsed.SSLNegotiation == "direct" {
				host.TLSConfig.NextProtos = []string{"postgresql"}
			}
		}
	}
	parsed.TLSConfig, parsed.Fallbacks = named[0].TLSConfig, named[1:]
	return nil
}

// certificates parses PEM; nil, the system's, for none.
func certificates(ca string) (*x509.CertPool, error) {
	if ca == "" {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		return nil, &Problem{Code: CredentialsInvalid, Err: errors.New("the CA file holds no PEM certificate")}
	}
	return roots, nil
}

// pair is what the relay shows the server; none without files. Files of which one
// is newer than the other do not belong together.
func (c credentials) pair() ([]tls.Certificate, error) {
	if c.certificate == "" {
		return nil, nil
	}
	pair, err := tls.X509KeyPair([]byte(c.certificate), []byte(c.key))
	if err != nil {
		return nil, &Problem{
			Code: CredentialsInvalid, Slots: []string{SlotCertificate, SlotKey},
			Err: errors.New("certificate and private key cannot be read, or do not belong together"),
		}
	}
	return []tls.Certificate{pair}, nil
}

func (c Config) tls(host string, roots *x509.CertPool) *tls.Config {
	settings := &tls.Config{ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12}
	switch c.TLSMode {
	case TLSDisable:
		return nil
	case TLSRequire:
		settings.InsecureSkipVerify = true
	case TLSVerifyCA:
		// The library checks host name and chain together or neither; the chain is checked here.
		settings.InsecureSkipVerify = true
		settings.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, roots) }
	case TLSVerifyFull:
	}
	return settings
}

func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 {
		return x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign, Detail: "the server sent no certificate"}
	}
	options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, certificate := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(options)
	return err
}

// setSession sets what every session of the relay runs with, whatever the
// defaults of role and database are. A pooler in transaction mode refuses such
// parameters, and would apply them to others' sessions.
func (c Config) setSession(parsed *pgx.ConnConfig) {
	parsed.ConnectTimeout = c.ConnectTimeout
	parsed.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	parsed.RuntimeParams["application_name"] = c.ApplicationName
	if c.Pooling == TransactionPooling {
		parsed.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		return
	}
	parsed.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	maps.Copy(parsed.RuntimeParams, c.sessionSettings())
}

// sessionSettings are what every statement of the relay runs with.
func (c Config) sessionSettings() map[string]string {
	return map[string]string{
		"statement_timeout":                   milliseconds(c.StatementTimeout),
		"lock_timeout":                        milliseconds(c.LockTimeout),
		"idle_in_transaction_session_timeout": milliseconds(c.StatementTimeout),
		"default_transaction_isolation":       "read committed",
		// Keys and header columns travel as text, which must not depend on the role.
		"TimeZone": "UTC", "DateStyle": "ISO",
		// The statements are written for one plan each: keys looked up one by
		// one, and the queue read in its index's order. The planner does not
		// always know: it keeps the plan of a day on which the table was small,
		// or believes in statistics from before a burst, and then reads all of
		// the table, or all that is due, for a claim of a few rows.
		"enable_seqscan":    "off",
		"enable_bitmapscan": "off",
		"enable_sort":       "off",
		"enable_hashjoin":   "off",
		"enable_mergejoin":  "off",
		// Compiling a statement that takes milliseconds takes longer than it.
		"jit": "off",
		// Results are read by a relay that may be stopped in the middle: a
		// server that cannot get rid of one must not hold locks or a snapshot
		// for ever.
		"tcp_user_timeout": milliseconds(c.StatementTimeout),
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
