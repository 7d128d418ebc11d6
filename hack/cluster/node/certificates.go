package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// validity outlives any cluster that is thrown away after use.
const validity = 365 * 24 * time.Hour

// pair is a certificate with its key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// identity is what a certificate says: who (the user and group of a client) and
// for a server under which names and addresses.
type identity struct {
	user, group string
	names       []string
	addresses   []string
}

func newAuthority(name string) (pair, error) {
	return sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
}

func (p pair) issue(id identity) (pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: id.user},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    id.names,
	}
	if id.group != "" {
		template.Subject.Organization = []string{id.group}
	}
	for _, a := range id.addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(a))
	}
	return sign(template, &p)
}

// sign completes and signs a template, by itself where there is no authority.
func sign(template *x509.Certificate, ca *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair{}, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(validity)
	if ca == nil {
		ca = &pair{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &key.PublicKey, ca.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	return pair{cert, key}, err
}

func (p pair) certPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw})
}

func (p pair) keyPEM() ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(p.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// write writes name.crt and name.key.
func (p pair) write(path func(string) string, name string) error {
	key, err := p.keyPEM()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path(name+".key"), key, 0o600); err != nil {
		return err
	}
	return os.WriteFile(path(name+".crt"), p.certPEM(), 0o644)
}

// writeCredentials makes the authority and everything that it signs.
func (n *Node) writeCredentials() error {
	ca, err := newAuthority("relayfleet-ca")
	if err != nil {
		return err
	}
	if err := ca.write(n.Paths.pki, "ca"); err != nil {
		return err
	}
	if err := n.writePairs(ca); err != nil {
		return err
	}
	if err := n.writeFrontProxy(); err != nil {
		return err
	}
	return n.writeKubeconfigs(ca)
}

func (n *Node) writePairs(ca pair) error {
	for name, id := range map[string]identity{
		"apiserver": {
			user:      "kube-apiserver",
			names:     []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
			addresses: []string{Address, serviceAddress, "127.0.0.1"},
		},
		"kubelet":         {user: NodeName, names: []string{NodeName}, addresses: []string{Address}},
		"kubelet-client":  {user: "kube-apiserver-kubelet-client", group: "system:masters"},
		"service-account": {user: "service-accounts"}, // only its key is used
	} {
		p, err := ca.issue(id)
		if err != nil {
			return err
		}
		if err := p.write(n.Paths.pki, name); err != nil {
			return err
		}
	}
	return nil
}

// writeFrontProxy makes the credentials that aggregated APIs trust. They have an
// authority of their own: with the common one any client could claim to be
// anybody.
func (n *Node) writeFrontProxy() error {
	ca, err := newAuthority("relayfleet-front-proxy-ca")
	if err != nil {
		return err
	}
	client, err := ca.issue(identity{user: "front-proxy-client"})
	if err != nil {
		return err
	}
	if err := ca.write(n.Paths.pki, "front-proxy-ca"); err != nil {
		return err
	}
	return client.write(n.Paths.pki, "front-proxy-client")
}

func (n *Node) writeKubeconfigs(ca pair) error {
	for path, id := range map[string]identity{
		n.Paths.Kubeconfig():                            {user: "relayfleet-admin", group: "system:masters"},
		n.Paths.config("controller-manager.kubeconfig"): {user: "system:kube-controller-manager"},
		n.Paths.config("scheduler.kubeconfig"):          {user: "system:kube-scheduler"},
		n.Paths.config("kubelet.kubeconfig"):            {user: "system:node:" + NodeName, group: "system:nodes"},
	} {
		p, err := ca.issue(id)
		if err != nil {
			return err
		}
		key, err := p.keyPEM()
		if err != nil {
			return err
		}
		encode := base64.StdEncoding.EncodeToString
		if err := render("kubeconfig.yaml", path, map[string]string{
			"Server": Server, "User": id.user,
			"CA": encode(ca.certPEM()), "Certificate": encode(p.certPEM()), "Key": encode(key),
		}, 0o600); err != nil {
			return err
		}
	}
	return nil
}
