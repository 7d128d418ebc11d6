package node

import (
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIssuedCertificates(t *testing.T) {
	ca, err := newAuthority("test-ca")
	require.NoError(t, err)
	server, err := ca.issue(identity{user: "kube-apiserver", names: []string{"localhost"}, addresses: []string{Address, serviceAddress}})
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	for _, name := range []string{"localhost", Address, serviceAddress} {
		_, err := server.cert.Verify(x509.VerifyOptions{DNSName: name, Roots: roots})
		require.NoError(t, err, name)
	}
	_, err = server.cert.Verify(x509.VerifyOptions{DNSName: "10.0.0.9", Roots: roots})
	require.Error(t, err)

	client, err := ca.issue(identity{user: "system:node:relayfleet", group: "system:nodes"})
	require.NoError(t, err)
	require.Equal(t, []string{"system:nodes"}, client.cert.Subject.Organization)
	require.False(t, client.cert.IsCA)

	other, err := newAuthority("other-ca")
	require.NoError(t, err)
	strangers := x509.NewCertPool()
	strangers.AddCert(other.cert)
	_, err = server.cert.Verify(x509.VerifyOptions{DNSName: "localhost", Roots: strangers})
	require.Error(t, err)
}
