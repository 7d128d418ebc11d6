package publish

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

// The slots of a Problem: which of the credentials it is about.
const (
	SlotCA            = "ca"
	SlotCertificate   = "certificate"
	SlotKey           = "key"
	SlotUsername      = "username"
	SlotPassword      = "password"
	SlotClientSecret  = "clientSecret"
	SlotTokenCA       = "tokenCA"
	SlotTokenEndpoint = "tokenEndpoint"
)

// material is the files' content at one moment. It is comparable.
type material struct {
	ca, certificate, key           string
	username, password             string
	clientSecret, tokenCertificate string
}

// readFiles reads all files that are configured. The error is a *Problem that
// names every one that is missing.
func (c Config) readFiles() (material, error) {
	var m material
	var missing reader
	if t := c.TLS; t != nil {
		missing.read(&m.ca, SlotCA, t.CAFile)
		missing.read(&m.certificate, SlotCertificate, t.CertificateFile)
		missing.read(&m.key, SlotKey, t.PrivateKeyFile)
	}
	if a := c.Authentication; a != nil {
		m.username = a.Username
		missing.read(&m.username, SlotUsername, a.UsernameFile)
		missing.read(&m.password, SlotPassword, a.PasswordFile)
		if a.OAuth != nil {
			missing.read(&m.clientSecret, SlotClientSecret, a.OAuth.ClientSecretFile)
			missing.read(&m.tokenCertificate, SlotTokenCA, a.OAuth.CAFile)
		}
	}
	if len(missing.slots) > 0 {
		return material{}, &Problem{Code: CredentialsMissing, Slots: missing.slots, Err: errors.Join(missing.errs...)}
	}
	return m, nil
}

// reader collects what cannot be read.
type reader struct {
	slots []string
	errs  []error
}

// read leaves content alone when there is no path. A file may end in the newline
// that editors leave behind.
func (r *reader) read(content *string, slot, path string) {
	if path == "" {
		return
	}
	data, err := os.ReadFile(path) //nolint:gosec // The path is the operator's or the user's own choice.
	if data = bytes.TrimRight(data, "\r\n"); err == nil && len(data) == 0 {
		err = fmt.Errorf("%s is empty", path)
	}
	if err != nil {
		r.slots = append(r.slots, slot)
		r.errs = append(r.errs, fmt.Errorf("read %s: %w", slot, err))
		return
	}
	*content = string(data)
}

// login is what a session secures its connections and logs in with. It does not
// change; other credentials are another login.
type login struct {
	// tls is nil for connections that are not encrypted.
	tls                *tls.Config
	mechanism          Mechanism
	username, password string
	scram              *scram.Client
	tokens             *tokens
}

// newLogin makes a login of the files' content. The error is a *Problem.
func newLogin(c Config, m material) (*login, error) {
	l := &login{username: m.username, password: m.password}
	var err error
	if c.TLS != nil {
		if l.tls, err = c.TLS.settings(m); err != nil {
			return nil, err
		}
	}
	if c.Authentication == nil {
		return l, nil
	}
	l.mechanism = c.Authentication.Mechanism
	switch l.mechanism {
	case OAuthBearer:
		l.tokens, err = newTokens(*c.Authentication.OAuth, m)
	case ScramSHA256, ScramSHA512:
		l.scram, err = newScramClient(l.mechanism, m)
	case Plain:
		if strings.ContainsRune(m.username+m.password, 0) { // It would end one and begin the other.
			err = &Problem{
				Code: CredentialsInvalid, Slots: []string{SlotUsername, SlotPassword}, Err: errors.New("user name or password holds a NUL"),
			}
		}
	}
	return l, err
}

// settings are those of each connection, but for the name of the server.
func (t TLS) settings(m material) (*tls.Config, error) {
	roots, err := certificates(SlotCA, m.ca)
	if err != nil {
		return nil, err
	}
	s := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	switch t.Mode {
	case TLSRequire:
		s.InsecureSkipVerify = true
	case TLSVerifyCA:
		// The library checks host name and chain together or neither; the chain is checked here.
		s.InsecureSkipVerify = true
		s.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, roots) }
	case TLSVerifyFull:
	}
	if m.certificate != "" {
		pair, err := tls.X509KeyPair([]byte(m.certificate), []byte(m.key))
		if err != nil {
			return nil, &Problem{
				Code: CredentialsInvalid, Slots: []string{SlotCertificate, SlotKey},
				Err: errors.New("certificate and key cannot be read, or do not belong together"),
			}
		}
		s.Certificates = []tls.Certificate{pair}
	}
	return s, nil
}

// certificates parses PEM; nil, the system's, for none.
func certificates(slot, ca string) (*x509.CertPool, error) {
	if ca == "" {
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		return nil, &Problem{
			Code: CredentialsInvalid, Slots: []string{slot}, Err: errors.New("the CA file holds no PEM certificate"),
		}
	}
	return roots, nil
}

func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, certificate := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(options)
	return err
}

// prepare gets what a connection needs beforehand, while there is a context that
// bounds it.
func (l *login) prepare(ctx context.Context) error {
	if l.tokens == nil {
		return nil
	}
	_, err := l.tokens.get(ctx)
	return err
}

// refused is to be told when a broker has refused the login.
func (l *login) refused() {
	if l.tokens != nil {
		l.tokens.refused()
	}
}

// accepted is to be told when a broker has accepted it.
func (l *login) accepted() {
	if l.tokens != nil {
		l.tokens.accepted()
	}
}

// configure sets how sarama logs in. TLS is the gate's.
func (l *login) configure(s *sarama.Config) {
	if l.mechanism == "" {
		return
	}
	s.Net.SASL.Enable = true
	s.Net.SASL.Mechanism = sarama.SASLMechanism(l.mechanism)
	s.Net.SASL.User, s.Net.SASL.Password = l.username, l.password
	if l.scram != nil {
		s.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &conversation{client: l.scram} }
	}
	if l.tokens != nil {
		s.Net.SASL.TokenProvider = l.tokens
	}
}
