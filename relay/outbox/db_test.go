package outbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

func TestMain(m *testing.M) { database.Main(m) }

// patience is how long a condition may take on a busy machine.
const patience = time.Minute

func requireCode(t *testing.T, code string, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, outbox.Classify(err).Code, err)
}

func TestSessionsAreSetUp(t *testing.T) {
	d := database.New(t)
	super, err := database.Server.Connect(t.Context(), d.Name)
	require.NoError(t, err)
	database.Exec(t, super, "ALTER ROLE "+d.Role+" SET default_transaction_isolation = 'serializable'")
	require.NoError(t, super.Close(t.Context()))
	config := d.Config()
	config.ApplicationName = "relay of a test"
	db := database.Open(t, config)
	for setting, want := range map[string]string{
		"application_name": "relay of a test", "statement_timeout": "5s", "lock_timeout": "2s",
		"idle_in_transaction_session_timeout": "5s", "transaction_isolation": "read committed",
	} {
		var got string
		require.NoError(t, db.Pool().QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got))
		require.Equal(t, want, got, setting)
	}
}

// A relay starts before its Secret is there, and goes on by itself.
func TestCredentialsThatComeLate(t *testing.T) {
	d := database.New(t)
	require.NoError(t, os.Remove(d.URIFile))
	db := d.Open(t)
	requireCode(t, outbox.CredentialsMissing, db.Pool().Ping(t.Context()))
	requireCode(t, outbox.CredentialsMissing, db.Refresh(t.Context()))
	d.WriteURI(t, d.URI(d.Role))
	require.NoError(t, db.Pool().Ping(t.Context()))
	require.NoError(t, db.Refresh(t.Context()))
}

// Files that vanish, are emptied or are wrong take nothing away from a relay
// that works, not even its next connection.
func TestCredentialsThatGoBad(t *testing.T) {
	d := database.New(t)
	db := d.Open(t)
	require.NoError(t, db.Pool().Ping(t.Context()))
	for name, test := range map[string]struct {
		uri  string
		code string
	}{
		"emptied":        {"", outbox.CredentialsMissing},
		"wrong":          {"no URI", outbox.CredentialsInvalid},
		"wrong password": {strings.Replace(d.URI(d.Role), database.Server.Password(d.Role), "wrong", 1), outbox.AuthenticationFailed},
	} {
		d.WriteURI(t, test.uri)
		requireCode(t, test.code, db.Refresh(t.Context()))
		db.Reconnect()
		require.NoError(t, db.Pool().Ping(t.Context()), name)
	}
	require.NoError(t, os.Remove(d.URIFile))
	requireCode(t, outbox.CredentialsMissing, db.Refresh(t.Context()))
	db.Reconnect()
	require.NoError(t, db.Pool().Ping(t.Context()))
}

// A rotated password is taken up, and the sessions of the old one end.
func TestPasswordIsRotated(t *testing.T) {
	d := database.New(t)
	db := d.Open(t)
	sessionOf := func() (pid int) {
		require.NoError(t, db.Pool().QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
		return pid
	}
	before := sessionOf()
	super, err := database.Server.Connect(t.Context(), d.Name)
	require.NoError(t, err)
	defer super.Close(t.Context())
	database.Exec(t, super, "ALTER ROLE "+d.Role+" PASSWORD 'rotated'")
	require.NoError(t, db.Refresh(t.Context()))
	require.Equal(t, before, sessionOf(), "nothing has changed in the files yet")

	d.WriteURI(t, strings.Replace(d.URI(d.Role), database.Server.Password(d.Role), "rotated", 1))
	require.NoError(t, db.Refresh(t.Context()))
	require.NotEqual(t, before, sessionOf())
	require.Eventually(t, func() bool {
		return !database.Query[bool](t, d.Owner, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", before)
	}, patience, 10*time.Millisecond)
}

func TestWrongPasswordAndDatabase(t *testing.T) {
	d := database.New(t)
	uri := d.URI(d.Role)
	d.WriteURI(t, strings.Replace(uri, database.Server.Password(d.Role), "wrong", 1))
	requireCode(t, outbox.AuthenticationFailed, d.Open(t).Pool().Ping(t.Context()))
	d.WriteURI(t, strings.Replace(uri, "/"+d.Name, "/nothing", 1))
	requireCode(t, outbox.DatabaseMissing, d.Open(t).Pool().Ping(t.Context()))
}

func TestReadOnlyServer(t *testing.T) {
	d := database.New(t)
	db := d.Open(t)
	require.NoError(t, db.Pool().Ping(t.Context()))
	database.Exec(t, d.Owner, "ALTER DATABASE "+d.Name+" SET default_transaction_read_only = on")
	db.Reconnect()
	requireCode(t, outbox.ReadOnly, db.Pool().Ping(t.Context()))
	database.Exec(t, d.Owner, "ALTER DATABASE "+d.Name+" RESET default_transaction_read_only")
	require.NoError(t, db.Pool().Ping(t.Context()))
}

func TestTLSModes(t *testing.T) {
	d := database.New(t)
	foreign := filepath.Join(t.TempDir(), "ca.crt")
	ca, err := authority.New("another authority")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(foreign, ca.PEM(), 0o600))
	garbage := filepath.Join(t.TempDir(), "garbage")
	require.NoError(t, os.WriteFile(garbage, []byte("no certificate"), 0o600))
	right := database.Server.CAFile()
	for _, test := range []struct {
		mode outbox.TLSMode
		ca   string
		code string // empty: it works
	}{
		{"", right, ""},
		{"", foreign, outbox.TLSFailed},
		{"", "", outbox.TLSFailed},
		{"", garbage, outbox.CredentialsInvalid},
		{"", filepath.Join(t.TempDir(), "nothing"), outbox.CredentialsMissing},
		{outbox.TLSVerifyCA, right, ""},
		{outbox.TLSVerifyCA, foreign, outbox.TLSFailed},
		{outbox.TLSRequire, "", ""},
		{outbox.TLSDisable, "", outbox.AuthenticationFailed}, // The server takes encrypted connections only.
	} {
		db := database.Open(t, outbox.Config{URIFile: d.URIFile, TLSMode: test.mode, CAFile: test.ca})
		err := db.Pool().Ping(t.Context())
		if test.code == "" {
			require.NoError(t, err, "%+v", test)
			continue
		}
		requireCode(t, test.code, err)
	}
}

// The database goes away and comes back; nobody has to do anything.
func TestServerStopsAndStarts(t *testing.T) {
	server, err := postgres.Start(t.Context(), postgres.Options{
		Version: database.Server.Options().Version, NotDurable: true, DieWithCaller: true, WithoutTLS: true,
	})
	require.NoError(t, err)
	defer server.Remove(t.Context()) //nolint:errcheck // The next start clears what is left.
	file := filepath.Join(t.TempDir(), "uri")
	require.NoError(t, os.WriteFile(file, []byte(server.URL("postgres", "postgres")), 0o600))

	requireCode(t, outbox.TLSFailed, database.Open(t, outbox.Config{URIFile: file}).Pool().Ping(t.Context()))

	db := database.Open(t, outbox.Config{URIFile: file, TLSMode: outbox.TLSDisable})
	query := func() error {
		if _, err := db.Pool().Exec(t.Context(), "SELECT"); err != nil {
			return db.Failed(err)
		}
		return nil
	}
	require.NoError(t, query())
	require.NoError(t, server.StopImmediate(t.Context()))
	requireCode(t, outbox.Unreachable, query())
	require.NoError(t, db.Refresh(t.Context()), "credentials are not to blame")
	require.NoError(t, server.Resume(t.Context()))
	require.Eventually(t, func() bool { return query() == nil }, patience, 10*time.Millisecond)
}

// A certificate for another address is what tells VerifyFull from VerifyCA.
func TestHostNameIsVerified(t *testing.T) {
	d := database.New(t)
	d.WriteURI(t, strings.Replace(d.URI(d.Role), database.Server.Address(), database.NewProxy(t, "127.0.0.2").Address(), 1))
	config := d.Config()
	requireCode(t, outbox.TLSFailed, database.Open(t, config).Pool().Ping(t.Context()))
	config.TLSMode = outbox.TLSVerifyCA
	require.NoError(t, database.Open(t, config).Pool().Ping(t.Context()))
}
