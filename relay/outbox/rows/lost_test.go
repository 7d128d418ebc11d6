package rows_test

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// patience is how long a condition may take on a busy machine.
const patience = 30 * time.Second

// proxy stands between a relay and the server and can lose the server's answers.
type proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	mute  bool
	conns []net.Conn
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, server: server}
	t.Cleanup(func() { _ = listener.Close(); p.cut() })
	go p.serve()
	return p
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
		go func() { _, _ = io.Copy(answers{p, client}, server); _ = client.Close() }()
	}
}

// answers are what the server says; a mute proxy swallows it.
type answers struct {
	proxy  *proxy
	client net.Conn
}

func (a answers) Write(data []byte) (int, error) {
	a.proxy.mu.Lock()
	mute := a.proxy.mute
	a.proxy.mu.Unlock()
	if mute {
		return len(data), nil
	}
	return a.client.Write(data)
}

func (p *proxy) setMute(mute bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = mute
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

// A claim whose answer is lost has happened. It costs no attempt and no lease.
func TestClaimWhoseAnswerIsLost(t *testing.T) {
	direct := database.New(t)
	d := direct
	d.URIFile = filepath.Join(t.TempDir(), "uri")
	p := newProxy(t, database.Server.Address())
	d.WriteURI(t, strings.Replace(d.URI(d.Role), database.Server.Address(), p.listener.Addr().String(), 1))
	store := newStore(t, d)
	require.Empty(t, claim(t, store, 10).Events, "the statements are prepared now")
	others := newStore(t, direct)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	theirs := claim(t, others, 1)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) SELECT gen_random_uuid() FROM generate_series(1, 3)")

	p.setMute(true)
	failed := make(chan error, 1)
	go func() {
		_, err := store.Claim(t.Context(), 10)
		failed <- err
	}()
	require.Eventually(t, func() bool {
		return database.Query[int64](t, d.Owner, "SELECT count(*) FROM outbox WHERE status = 'INPROGRESS'") == 4
	}, patience, 10*time.Millisecond)
	p.cut()
	err := <-failed
	require.Error(t, err)
	require.Equal(t, outbox.Unreachable, outbox.Classify(err).Code)

	p.setMute(false)
	batch := claim(t, store, 10)
	require.Len(t, batch.Events, 3)
	require.Equal(t, 1, batch.Events[0].Attempts)
	require.Zero(t, batch.Reclaimed)
	require.Equal(t, int64(2), database.Query[int64](t, d.Owner, "SELECT max(generation) FROM outbox"))

	settled, err := others.Settle(t.Context(), theirs, []event.Settlement{{Action: event.Sent}})
	require.NoError(t, err)
	require.Equal(t, event.Settled{Sent: 1}, settled, "the claims of others are left alone")
}

// Rows whose content cannot be read after the claim are given back as well.
func TestClaimWhoseRowsCannotBeRead(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, "REVOKE SELECT ON outbox FROM "+d.Role)
	database.Exec(t, d.Owner, "GRANT SELECT (id, status, generation, claim_token, attempts, lease_until, next_attempt_at, payload) ON outbox TO "+d.Role)
	database.Exec(t, d.Owner, "INSERT INTO outbox (event_id) VALUES (gen_random_uuid())")
	store := newStore(t, d)
	for range 3 {
		_, err := store.Claim(t.Context(), 10)
		require.Equal(t, outbox.PermissionDenied, outbox.Classify(err).Code)
	}
	database.Exec(t, d.Owner, "GRANT SELECT ON outbox TO "+d.Role)
	batch := claim(t, store, 10)
	require.Len(t, batch.Events, 1)
	require.Equal(t, 1, batch.Events[0].Attempts)
}

// A claim that the server has undone is not looked for, and nothing is held.
func TestClaimThatTimesOutHoldsNothing(t *testing.T) {
	d := database.New(t)
	database.Exec(t, d.Owner, `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
		CREATE TRIGGER wait BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION wait();
		INSERT INTO outbox (event_id) VALUES (gen_random_uuid())`)
	config := d.Config()
	config.StatementTimeout = 200 * time.Millisecond
	store := rows.New(database.Open(t, config), d.Table, outboxtest.Lease)
	_, err := store.Claim(t.Context(), 1)
	require.Equal(t, outbox.DatabaseFailed, outbox.Classify(err).Code)
	database.Exec(t, d.Owner, "DROP TRIGGER wait ON outbox")
	batch := claim(t, store, 1)
	require.Len(t, batch.Events, 1)
	require.Equal(t, 1, batch.Events[0].Attempts)
}
