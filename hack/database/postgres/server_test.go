package postgres_test

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/hack/service"
)

func query[T any](t *testing.T, url, statement string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), statement).Scan(&value))
	return value
}

func exec1(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
}

// requireGone asserts that neither a process nor a file of the server is left.
func requireGone(t *testing.T, server *postgres.Server, processes []service.Process) {
	t.Helper()
	for _, process := range processes {
		require.False(t, process.Alive(), "process %d is left", process.PID)
	}
	require.NoDirExists(t, server.Dir())
}

// processes are the server's main process and those that it started.
func processes(t *testing.T, server *postgres.Server) []service.Process {
	t.Helper()
	children, err := server.Process().Children()
	require.NoError(t, err)
	require.NotEmpty(t, children)
	return append(children, server.Process())
}

func sharedMemory(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/shm")
	require.NoError(t, err)
	return string(text)
}

func TestServerKeepsCommittedRowsWhateverEndsIt(t *testing.T) {
	server := postgres.StartForTest(t, postgres.Options{})
	require.NoError(t, server.CreateRole(t.Context(), "shop"))
	require.NoError(t, server.CreateDatabase(t.Context(), "shop", "shop"))
	require.NoError(t, server.CreateDatabase(t.Context(), "shop", "shop"), "a second time is no error")
	url := server.URL("shop", "shop")

	require.True(t, strings.HasPrefix(query[string](t, url, "SHOW server_version"), "18."))
	require.Equal(t, "on", query[string](t, url, "SHOW fsync"))
	exec1(t, url, "CREATE TABLE t (how text)")

	ways := map[string]func(context.Context) error{
		"stop": server.Stop, "stop at once": server.StopImmediate, "kill": server.Kill,
	}
	for how, end := range ways {
		exec1(t, url, "INSERT INTO t VALUES ('"+how+"')")
		before := processes(t, server)
		require.NoError(t, end(t.Context()), how)
		for _, process := range before {
			require.False(t, process.Alive(), how)
		}
		_, err := pgx.Connect(t.Context(), url)
		require.Error(t, err, how)
		require.NoError(t, server.Resume(t.Context()), how)
	}
	require.NoError(t, server.Restart(t.Context()))
	require.Equal(t, len(ways), query[int](t, url, "SELECT count(*)::int FROM t"))

	before := processes(t, server)
	require.NoError(t, server.Remove(t.Context()))
	requireGone(t, server, before)
}

func TestKilledServerLeavesNoSharedMemory(t *testing.T) {
	server := postgres.StartForTest(t, postgres.Options{NotDurable: true})
	require.Equal(t, "off", query[string](t, server.URL("postgres", "postgres"), "SHOW fsync"))
	pidFile, err := os.ReadFile(filepath.Join(server.Dir(), "data", "postmaster.pid"))
	require.NoError(t, err)
	segment := strings.Fields(strings.Split(string(pidFile), "\n")[6])[1]
	require.Contains(t, sharedMemory(t), " "+segment+" ")

	require.NoError(t, server.Kill(t.Context()))
	require.NoError(t, server.Remove(t.Context()))

	require.NotContains(t, sharedMemory(t), " "+segment+" ")
}

func TestTLSIsVerifiedAndRequired(t *testing.T) {
	server := postgres.StartForTest(t, postgres.Options{NotDurable: true, Hosts: []string{"db.example"}})
	url := server.URL("postgres", "postgres")
	require.True(t, query[bool](t, url, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))

	t.Run("plain text is refused", func(t *testing.T) {
		_, err := pgx.Connect(t.Context(), strings.Replace(url, "verify-full", "disable", 1))
		require.ErrorContains(t, err, "no encryption")
	})
	t.Run("another authority of the same name is refused", func(t *testing.T) {
		other, err := authority.New("relayfleet database " + server.Options().Name)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "ca.crt")
		require.NoError(t, os.WriteFile(file, other.PEM(), 0o600))
		config, err := pgx.ParseConfig(url)
		require.NoError(t, err)
		config.TLSConfig.RootCAs = x509.NewCertPool()
		config.TLSConfig.RootCAs.AppendCertsFromPEM(other.PEM())
		_, err = pgx.ConnectConfig(t.Context(), config)
		var unknown x509.UnknownAuthorityError
		require.ErrorAs(t, err, &unknown, "%v", err)
	})
	t.Run("only the named hosts are valid", func(t *testing.T) {
		for host, valid := range map[string]bool{"db.example": true, "10.244.0.1": true, "10.250.0.2": true, "elsewhere.example": false} {
			config, err := pgx.ParseConfig(url)
			require.NoError(t, err)
			config.TLSConfig.ServerName = host
			conn, err := pgx.ConnectConfig(t.Context(), config)
			require.Equal(t, valid, err == nil, "%s: %v", host, err)
			if err == nil {
				require.NoError(t, conn.Close(t.Context()))
			}
		}
	})
	t.Run("a wrong password is refused", func(t *testing.T) {
		wrong := strings.Replace(url, server.Password("postgres"), rand.Text(), 1)
		_, err := pgx.Connect(t.Context(), wrong)
		require.ErrorContains(t, err, "28P01")
	})
}

func TestStartKeepsWhatRunsAndResumesWhatWasStopped(t *testing.T) {
	options := postgres.Options{Name: service.TemporaryName(), DieWithCaller: true, NotDurable: true}
	first := postgres.StartForTest(t, options)

	kept, err := postgres.Start(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, first.Process(), kept.Process())

	different := options
	different.Port = first.Port() + 1
	_, err = postgres.Start(t.Context(), different)
	require.ErrorContains(t, err, "stop it first")

	require.NoError(t, kept.Kill(t.Context()))
	resumed, err := postgres.Start(t.Context(), options)
	require.NoError(t, err)
	require.Equal(t, first.URL("postgres", "postgres"), resumed.URL("postgres", "postgres"))
	require.NoError(t, resumed.Ping(t.Context()))

	require.NoError(t, resumed.Remove(t.Context()))
	_, err = postgres.Find(options.Name)
	require.ErrorIs(t, err, service.ErrNotFound)
}

func TestStartSaysWhyItFailed(t *testing.T) {
	options := postgres.Options{
		Name: service.TemporaryName(), NotDurable: true,
		Settings: map[string]string{"shared_buffers": "nonsense"},
	}
	_, err := postgres.Start(t.Context(), options)
	var text strings.Builder
	service.Explain(&text, err)
	require.Contains(t, text.String(), `invalid value for parameter "shared_buffers"`)
	require.Contains(t, text.String(), "start again")

	broken, err := postgres.Find(options.Name)
	require.NoError(t, err)
	require.NoError(t, broken.Remove(t.Context()))

	_, err = postgres.Start(t.Context(), postgres.Options{Version: 9})
	require.ErrorIs(t, err, postgres.ErrNotInstalled)
	_, err = postgres.Start(t.Context(), postgres.Options{Netns: "relayfleet-no-such"})
	require.ErrorContains(t, err, "does not exist")
}

func TestOldestSupportedVersion(t *testing.T) {
	if _, err := os.Stat("/usr/lib/postgresql/15/bin/postgres"); err != nil {
		t.Skip("PostgreSQL 15 is not installed (Debian: apt-get install postgresql-15)")
	}
	server := postgres.StartForTest(t, postgres.Options{Version: 15, WithoutTLS: true, NotDurable: true})
	require.True(t, strings.HasPrefix(query[string](t, server.URL("postgres", "postgres"), "SHOW server_version"), "15."))
}

// TestNothingOutlivesAKilledTest starts this test binary once more, as a test that starts a server, and kills it.
func TestNothingOutlivesAKilledTest(t *testing.T) {
	const marker = "RELAYFLEET_TEST_VICTIM"
	if name := os.Getenv(marker); name != "" {
		postgres.StartForTest(t, postgres.Options{Name: name, NotDurable: true})
		select {}
	}
	name := service.TemporaryName()
	victim := exec.Command(os.Args[0], "-test.run", "^TestNothingOutlivesAKilledTest$")
	victim.Env = append(os.Environ(), marker+"="+name)
	require.NoError(t, victim.Start())

	var server *postgres.Server
	require.Eventually(t, func() bool {
		found, err := postgres.Find(name)
		if err != nil || found.Ping(t.Context()) != nil {
			return false
		}
		server = found
		return true
	}, time.Minute, 50*time.Millisecond)
	left := processes(t, server)
	require.NoError(t, victim.Process.Kill())
	require.Error(t, victim.Wait())

	for _, process := range left {
		require.Eventually(t, func() bool { return !process.Alive() }, time.Minute, 20*time.Millisecond)
	}
	// Its data goes with the next start of any server.
	postgres.StartForTest(t, postgres.Options{NotDurable: true})
	requireGone(t, server, left)
}
