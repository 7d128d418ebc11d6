package outbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

const password = "hunter2"

// Whatever a Secret holds, the error says what is to be done and nothing of it.
func TestURIsThatCannotBeUsed(t *testing.T) {
	for name, test := range map[string]struct {
		uri  string
		mode outbox.TLSMode
		code string
	}{
		"empty":                 {"", "", outbox.CredentialsMissing},
		"only a newline":        {"\n", "", outbox.CredentialsMissing},
		"not a URI":             {password, "", outbox.CredentialsInvalid},
		"another scheme":        {"mysql://u:" + password + "@h/d", "", outbox.CredentialsInvalid},
		"keywords":              {"host=h user=u password=" + password, "", outbox.CredentialsInvalid},
		"password with at":      {"postgres://u:" + password + "@" + password + "@h/d", "", outbox.CredentialsInvalid},
		"password with colon":   {"postgres://u@x:" + password + ":" + password + "@h/d", "", outbox.CredentialsInvalid},
		"password with slash":   {"postgres://u:" + password + "/" + password + "@h:x/d", "", outbox.CredentialsInvalid},
		"password with slashes": {"postgres://u:12/" + password + "@h/d", "", outbox.CredentialsInvalid},
		"password with a query": {"postgres://u:12/?user=u&dbname=" + password + "@h", "", outbox.CredentialsInvalid},
		"no user":               {"postgres://h/" + password, "", outbox.CredentialsInvalid},
		"no host":               {"postgres://u:" + password + "@/d", "", outbox.CredentialsInvalid},
		"bad escape":            {"postgres://u:%zz" + password + "@h/d", "", outbox.CredentialsInvalid},
		"a NUL":                 {"postgres://u:\x00" + password + "@h/d", "", outbox.CredentialsInvalid},
		"bad port":              {"postgres://u:" + password + "@h:" + password + "/d", "", outbox.CredentialsInvalid},
		"unknown mode":          {"postgres://u:" + password + "@h/d?sslmode=" + password, "", outbox.CredentialsInvalid},
		"reads a file":          {"postgres://u:" + password + "@h/d?sslrootcert=/etc/passwd", "", outbox.CredentialsInvalid},
		"reads a service file":  {"postgres://u:" + password + "@h/d?servicefile=/etc/passwd&service=x", "", outbox.CredentialsInvalid},
		"unknown parameter":     {"postgres://u:" + password + "@h/d?" + password + "=" + password, "", outbox.CredentialsInvalid},

		"disable under VerifyFull":   {"postgres://u:" + password + "@h/d?sslmode=disable", "", outbox.TLSTooWeak},
		"allow under VerifyFull":     {"postgres://u:" + password + "@h/d?sslmode=allow", "", outbox.TLSTooWeak},
		"prefer under VerifyFull":    {"postgres://u:" + password + "@h/d?sslmode=prefer", "", outbox.TLSTooWeak},
		"require under VerifyFull":   {"postgres://u:" + password + "@h/d?sslmode=require", "", outbox.TLSTooWeak},
		"ssl under VerifyFull":       {"postgres://u:" + password + "@h/d?ssl=true", "", outbox.TLSTooWeak},
		"verify-ca under VerifyFull": {"postgres://u:" + password + "@h/d?sslmode=verify-ca", "", outbox.TLSTooWeak},
		"require under VerifyCA":     {"postgres://u:" + password + "@h/d?sslmode=require", outbox.TLSVerifyCA, outbox.TLSTooWeak},
		"prefer under Require":       {"postgres://u:" + password + "@h/d?sslmode=prefer", outbox.TLSRequire, outbox.TLSTooWeak},
		"a socket":                   {"postgres://u:" + password + "@/d?host=/tmp", "", outbox.TLSTooWeak},

		// These get as far as connecting, to a port where nobody listens.
		"silent":                        {"postgres://u:" + password + "@127.0.0.1:1/d", "", outbox.Unreachable},
		"other scheme of the same":      {"postgresql://u:" + password + "@127.0.0.1:1/d", "", outbox.Unreachable},
		"a question mark":               {"postgres://u:" + password + "?@127.0.0.1:1/d", "", outbox.Unreachable},
		"an IPv6 address":               {"postgres://u:" + password + "@[::1]:1/d", "", outbox.Unreachable},
		"two hosts":                     {"postgres://u:" + password + "@127.0.0.1:1,127.0.0.2:1/d", "", outbox.Unreachable},
		"verify-full under VerifyFull":  {"postgres://u:" + password + "@127.0.0.1:1/d?sslmode=verify-full", "", outbox.Unreachable},
		"verify-full under Disable":     {"postgres://u:" + password + "@127.0.0.1:1/d?sslmode=verify-full", outbox.TLSDisable, outbox.Unreachable},
		"disable under Disable":         {"postgres://u:" + password + "@127.0.0.1:1/d?sslmode=disable", outbox.TLSDisable, outbox.Unreachable},
		"verify-ca under VerifyCA":      {"postgres://u:" + password + "@127.0.0.1:1/d?sslmode=verify-ca", outbox.TLSVerifyCA, outbox.Unreachable},
		"require under Require":         {"postgres://u:" + password + "@127.0.0.1:1/d?sslmode=require", outbox.TLSRequire, outbox.Unreachable},
		"percent-encoded mode of less?": {"postgres://u:" + password + "@127.0.0.1:1/d?%73slmode=disable", "", outbox.TLSTooWeak},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "uri")
			require.NoError(t, os.WriteFile(file, []byte(test.uri), 0o600))
			db := database.Open(t, outbox.Config{URIFile: file, TLSMode: test.mode})
			for _, err := range []error{db.Refresh(t.Context()), db.Pool().Ping(t.Context())} {
				require.Error(t, err)
				require.Equal(t, test.code, outbox.Classify(err).Code, err)
				require.NotContains(t, err.Error(), password)
				require.NotContains(t, outbox.Classify(err).Error(), password)
			}
		})
	}
}

func TestConfigurationsThatCannotBeUsed(t *testing.T) {
	for name, config := range map[string]outbox.Config{
		"no file":        {},
		"unknown mode":   {URIFile: "f", TLSMode: "Strict"},
		"unknown pooler": {URIFile: "f", Pooling: "Statement"},
		"no connections": {URIFile: "f", MaxConnections: -1},
		"no time":        {URIFile: "f", StatementTimeout: -1},
		"half a pair":    {URIFile: "f", CertificateFile: "c"},
		"pair unused":    {URIFile: "f", TLSMode: outbox.TLSDisable, CertificateFile: "c", PrivateKeyFile: "k"},
	} {
		_, err := outbox.Open(config)
		require.Error(t, err, name)
	}
}

func TestAMissingFileIsNamedByItsSlot(t *testing.T) {
	dir := t.TempDir()
	uri := filepath.Join(dir, "uri")
	db, err := outbox.Open(outbox.Config{URIFile: uri, CAFile: filepath.Join(dir, "ca.crt")})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	missing := func() []string { return outbox.Classify(db.Refresh(t.Context())).Slots }
	require.Equal(t, []string{outbox.SlotURI}, missing())
	require.NoError(t, os.WriteFile(uri, []byte("postgres://u:p@127.0.0.1:1/d"), 0o600))
	require.Equal(t, []string{outbox.SlotCA}, missing())
}
