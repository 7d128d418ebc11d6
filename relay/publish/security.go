package publish

import (
	"errors"
	"fmt"
	"net"
	"net/url"
)

// TLSMode says how much the brokers must prove.
type TLSMode string

const (
	// TLSVerifyFull: encrypted, certificate and host name are checked. The default.
	TLSVerifyFull TLSMode = "VerifyFull"
	// TLSVerifyCA: encrypted, the certificate is checked, the host name is not.
	TLSVerifyCA TLSMode = "VerifyCA"
	// TLSRequire: encrypted, nothing is checked.
	TLSRequire TLSMode = "Require"
)

// TLS says what is asked of the brokers, and what the relay shows them.
type TLS struct {
	// Mode is TLSVerifyFull unless it is set.
	Mode TLSMode
	// CAFile holds the certificates to trust, PEM; unset: the system's.
	CAFile string
	// CertificateFile and PrivateKeyFile, PEM, are the relay's own; both or none.
	CertificateFile, PrivateKeyFile string
}

// Mechanism is a SASL mechanism.
type Mechanism string

// The mechanisms.
const (
	Plain       Mechanism = "PLAIN"
	ScramSHA256 Mechanism = "SCRAM-SHA-256"
	ScramSHA512 Mechanism = "SCRAM-SHA-512"
	OAuthBearer Mechanism = "OAUTHBEARER"
)

// Authentication says how the relay logs in.
type Authentication struct {
	// Mechanism is one of the constants above.
	Mechanism Mechanism
	// Username, or the file that holds it; not for OAuthBearer.
	Username, UsernameFile string
	// PasswordFile holds the password; not for OAuthBearer.
	PasswordFile string
	// OAuth is for OAuthBearer only.
	OAuth *OAuth
}

// OAuth is the client credentials grant of RFC 6749, section 4.4. Client id and
// secret go in the Authorization header, as section 2.3.1 describes.
type OAuth struct {
	// TokenEndpoint is an https address; http is for loopback only.
	TokenEndpoint string
	ClientID      string
	// ClientSecretFile holds the secret.
	ClientSecretFile string
	// Scope and Audience are asked for when they are set.
	Scope, Audience string
	// CAFile holds the certificates that the endpoint may show, PEM; unset: the
	// system's.
	CAFile string
}

func (c Config) validateSecurity() error {
	var errs []error
	if t := c.TLS; t != nil {
		if t.Mode != "" && t.Mode != TLSVerifyFull && t.Mode != TLSVerifyCA && t.Mode != TLSRequire {
			errs = append(errs, fmt.Errorf("unknown TLS mode %q", string(t.Mode)))
		}
		if (t.CertificateFile == "") != (t.PrivateKeyFile == "") {
			errs = append(errs, errors.New("certificate and private key belong together"))
		}
	}
	if c.Authentication != nil {
		errs = append(errs, c.Authentication.validate())
	}
	return errors.Join(errs...)
}

func (a Authentication) validate() error {
	switch a.Mechanism {
	case Plain, ScramSHA256, ScramSHA512:
		if (a.Username == "") == (a.UsernameFile == "") || a.PasswordFile == "" {
			return fmt.Errorf("%s needs a user name or the file that holds it, and the file of the password", a.Mechanism)
		}
		return nil
	case OAuthBearer:
		if a.OAuth == nil || a.OAuth.ClientID == "" || a.OAuth.ClientSecretFile == "" {
			return errors.New("OAUTHBEARER needs a client id and the file of the client's secret")
		}
		return validateEndpoint(a.OAuth.TokenEndpoint)
	default:
		return fmt.Errorf("unknown SASL mechanism %q", string(a.Mechanism))
	}
}

// validateEndpoint keeps the client's secret from being sent readable.
func validateEndpoint(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("the token endpoint is not an https address")
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("the token endpoint may be http only on loopback")
	}
	return nil
}
