// Package authority is a certificate authority for the databases and brokers of development and tests.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// Authority signs certificates. Two authorities of the same name do not trust each other, which is how a test makes a
// server that its client must refuse.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Pair is a certificate and its private key, both PEM.
type Pair struct{ Certificate, Key []byte }

// Request says what a certificate is for.
type Request struct {
	// CommonName is the subject: for a client certificate of PostgreSQL the role.
	CommonName string
	// Hosts are the names and addresses that a server answers to; a client certificate has none.
	Hosts []string
	// Lifetime is how long it is valid from now; zero means ten years.
	Lifetime time.Duration
}

const defaultLifetime = 10 * 365 * 24 * time.Hour

// New makes an authority with a key of its own, valid for ten years.
func New(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := sign(template, defaultLifetime, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{certificate: certificate, key: key}, nil
}

// PEM is the authority's certificate, which those who shall trust it need.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// Issue makes a new key and a certificate for it, good for servers and clients.
func (a *Authority) Issue(request Request) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: request.CommonName},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range request.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := sign(template, request.Lifetime, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("issue a certificate for %s: %w", request.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	return Pair{Certificate: encode("CERTIFICATE", der), Key: keyPEM}, err
}

func sign(template *x509.Certificate, lifetime time.Duration, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	if lifetime == 0 {
		lifetime = defaultLifetime
	}
	template.SerialNumber = serial
	// An hour back, so that a server with a slightly wrong clock accepts it.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(lifetime)
	return x509.CreateCertificate(rand.Reader, template, parent, public, signer)
}

// Save writes the certificate for everybody and the key for the owner.
func (a *Authority) Save(certificateFile, keyFile string) error {
	key, err := encodeKey(a.key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		return err
	}
	return os.WriteFile(certificateFile, a.PEM(), 0o644)
}

// Load reads what Save wrote.
func Load(certificateFile, keyFile string) (*Authority, error) {
	certificateDER, err := readPEM(certificateFile)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(certificateDER)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", certificateFile, err)
	}
	keyDER, err := readPEM(keyFile)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(keyDER)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", keyFile, err)
	}
	ecdsaKey, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read %s: not an ECDSA key", keyFile)
	}
	return &Authority{certificate: certificate, key: ecdsaKey}, nil
}

func readPEM(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New(file + " is not PEM")
	}
	return block.Bytes, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encode("PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
