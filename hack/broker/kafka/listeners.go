package kafka

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/service"
)

// Listener is a further way for clients on the host to reach each broker, with its own TLS and logins.
type Listener struct {
	// Name tells it from the others: capital letters.
	Name string
	// Server is what the brokers show; without it the connection is not encrypted.
	Server authority.Pair
	// ClientCA, PEM, signs the certificates that clients must show; without it they are not asked for any.
	ClientCA []byte
	// Mechanisms are those of SASL that are offered; none lets everybody in.
	Mechanisms []string
	// Users have the names and passwords for PLAIN. Those for SCRAM are made later: admin.Cluster.SetScramUser.
	Users map[string]string
	// Tokens says which tokens OAUTHBEARER takes.
	Tokens Tokens
	// MaxReauth is after how long at the latest a client must log in again (KIP-368); 0 is never.
	MaxReauth time.Duration
}

// Tokens are signed JWTs.
type Tokens struct {
	// Keys is the JWK set with the public keys.
	Keys []byte
	// Issuer and Audience must be those of a token.
	Issuer, Audience string
}

// ListenerAddresses are the brokers' for the listener of that name; nil when there is none.
func (c *Cluster) ListenerAddresses(name string) []string {
	for i, listener := range c.state.Options.Listeners {
		if listener.Name == name {
			return c.each(func(broker int) string { return c.listenerAddress(broker, i) })
		}
	}
	return nil
}

func (c *Cluster) listenerAddress(broker, i int) string {
	port := strconv.Itoa(c.hostPort(broker) + ownPorts + i)
	return net.JoinHostPort(service.HostAddress(c.state.Options.Netns), port)
}

func (l Listener) protocol() string {
	switch {
	case len(l.Mechanisms) > 0 && len(l.Server.Key) > 0:
		return "SASL_SSL"
	case len(l.Mechanisms) > 0:
		return "SASL_PLAINTEXT"
	case len(l.Server.Key) > 0:
		return "SSL"
	}
	return "PLAINTEXT"
}

// listenerFile is where a file of a listener is: its certificate with key, what it trusts, or its token keys.
func (c *Cluster) listenerFile(l Listener, what string) string {
	return c.instance.Path(strings.ToLower(l.Name) + "-" + what)
}

func (c *Cluster) writeListenerFiles() error {
	for _, l := range c.state.Options.Listeners {
		for what, content := range map[string][]byte{
			"server.pem": slices.Concat(l.Server.Key, l.Server.Certificate), "clients.pem": l.ClientCA, "keys.json": l.Tokens.Keys,
		} {
			if len(content) == 0 {
				continue
			}
			if err := os.WriteFile(c.listenerFile(l, what), content, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// settings are the lines of a listener in server.properties.
func (c *Cluster) settings(l Listener) map[string]string {
	prefix := "listener.name." + strings.ToLower(l.Name) + "."
	p := map[string]string{}
	if len(l.Server.Key) > 0 {
		p[prefix+"ssl.keystore.type"] = "PEM"
		p[prefix+"ssl.keystore.location"] = c.listenerFile(l, "server.pem")
	}
	if len(l.ClientCA) > 0 {
		p[prefix+"ssl.truststore.type"] = "PEM"
		p[prefix+"ssl.truststore.location"] = c.listenerFile(l, "clients.pem")
		p[prefix+"ssl.client.auth"] = "required"
	}
	if len(l.Mechanisms) > 0 {
		p[prefix+"sasl.enabled.mechanisms"] = strings.Join(l.Mechanisms, ",")
	}
	for _, mechanism := range l.Mechanisms {
		maps.Copy(p, c.login(l, prefix, mechanism))
	}
	return p
}

const security = "org.apache.kafka.common.security."

func (c *Cluster) login(l Listener, prefix, mechanism string) map[string]string {
	own := prefix + strings.ToLower(mechanism) + "."
	p := map[string]string{}
	if l.MaxReauth > 0 {
		p[own+"connections.max.reauth.ms"] = strconv.FormatInt(l.MaxReauth.Milliseconds(), 10)
	}
	jaas := own + "sasl.jaas.config"
	switch mechanism {
	case "PLAIN":
		p[jaas] = security + "plain.PlainLoginModule required"
		for _, user := range slices.Sorted(maps.Keys(l.Users)) {
			p[jaas] += fmt.Sprintf(` user_%s="%s"`, user, l.Users[user])
		}
		p[jaas] += ";"
	case "OAUTHBEARER":
		p[jaas] = security + "oauthbearer.OAuthBearerLoginModule required;"
		p[own+"sasl.server.callback.handler.class"] = security + "oauthbearer.OAuthBearerValidatorCallbackHandler"
		p[prefix+"sasl.oauthbearer.jwks.endpoint.url"] = c.keysURL(l)
		p[prefix+"sasl.oauthbearer.expected.issuer"] = l.Tokens.Issuer
		p[prefix+"sasl.oauthbearer.expected.audience"] = l.Tokens.Audience
	default:
		p[jaas] = security + "scram.ScramLoginModule required;"
	}
	return p
}

func (c *Cluster) keysURL(l Listener) string { return "file://" + c.listenerFile(l, "keys.json") }

// allowKeys is the option of the virtual machine without which Kafka reads keys from nowhere; empty without listeners
// that need it.
func (c *Cluster) allowKeys() string {
	var urls []string
	for _, l := range c.state.Options.Listeners {
		if len(l.Tokens.Keys) > 0 {
			urls = append(urls, c.keysURL(l))
		}
	}
	if len(urls) == 0 {
		return ""
	}
	return " -Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=" + strings.Join(urls, ",")
}

func (l Listener) equals(o Listener) bool {
	return l.Name == o.Name && slices.Equal(l.Mechanisms, o.Mechanisms) && maps.Equal(l.Users, o.Users) &&
		bytes.Equal(l.Server.Certificate, o.Server.Certificate) && bytes.Equal(l.ClientCA, o.ClientCA) &&
		bytes.Equal(l.Tokens.Keys, o.Tokens.Keys) && l.MaxReauth == o.MaxReauth
}
