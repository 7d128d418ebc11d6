package settings

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

func (p *problems) database(d Database) {
	p.check(d.URIFile != "", "database.uriFile", "is required: the path of a file with a connection URI")
	oneOf(p, "database.tls.mode", d.TLS.Mode, TLSVerifyFull, TLSVerifyCA, TLSRequire, TLSDisable)
	p.certificate("database.tls", d.TLS)
	oneOf(p, "database.pooling", d.Pooling, PoolingSession, PoolingTransaction)
}

func (p *problems) kafka(k Kafka) {
	p.servers("kafka.bootstrapServers", k.BootstrapServers)
	oneOf(p, "kafka.compression", k.Compression, LZ4, Zstd, CompressionNone)
	if k.TLS != nil {
		oneOf(p, "kafka.tls.mode", k.TLS.Mode, TLSVerifyFull, TLSVerifyCA, TLSRequire)
		p.certificate("kafka.tls", *k.TLS)
	}
	if k.Authentication != nil {
		p.authentication(k)
	}
}

func (p *problems) certificate(path string, t TLS) {
	p.check((t.CertificateFile == "") == (t.PrivateKeyFile == ""), path,
		"certificateFile and privateKeyFile belong together: write both or none")
	p.check(t.Mode != TLSDisable || t.CAFile == "" && t.CertificateFile == "", path, "certificates are not used with mode Disable")
	p.check(t.Mode != TLSRequire || t.CAFile == "", path, "caFile is not used with mode Require: write VerifyFull or VerifyCA, or leave it out")
}

func (p *problems) authentication(k Kafka) {
	const path = "kafka.authentication"
	a := k.Authentication
	oneOf(p, path+".type", a.Type, Plain, ScramSHA256, ScramSHA512, OAuthBearer)
	p.check(k.TLS != nil || a.Type == ScramSHA256 || a.Type == ScramSHA512, path,
		"%s would send its secret readable for everybody on the way: write kafka.tls too", a.Type)
	if a.Type == OAuthBearer {
		p.check(a.OAuth != nil, path+".oauth", "is required with OAUTHBEARER")
		p.check(a.Username == "" && a.UsernameFile == "" && a.PasswordFile == "", path, "OAUTHBEARER takes no username and no passwordFile")
		if a.OAuth != nil {
			p.oauth(path+".oauth", *a.OAuth)
		}
		return
	}
	p.check(a.OAuth == nil, path+".oauth", "is only for OAUTHBEARER")
	p.check((a.Username == "") != (a.UsernameFile == ""), path, "write exactly one of username and usernameFile")
	p.check(a.PasswordFile != "", path+".passwordFile", "is required with %s", a.Type)
}

func (p *problems) oauth(path string, o OAuth) {
	// The address is not repeated: what is wrong with it may be a password in it.
	p.check(isTokenEndpoint(o.TokenEndpoint), path+".tokenEndpoint",
		"must be an https address without user and fragment (http only on loopback)")
	p.check(o.ClientID != "", path+".clientID", "is required")
	p.check(o.ClientSecretFile != "", path+".clientSecretFile", "is required")
}

func isTokenEndpoint(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// oneOf is for values with a default: an empty one is as wrong as any other.
func oneOf[T ~string](p *problems, path string, value T, allowed ...T) {
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	p.check(slices.Contains(allowed, value), path, "must be one of %s, not %q", strings.Join(words, ", "), string(value))
}
