// Package pgbouncer runs a real PgBouncer in front of a server of package postgres, for tests of what a pooler changes.
package pgbouncer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/hack/service"
)

const (
	kind = "pooler"
	// patience is how long a start or an end may take before it counts as failed.
	patience = time.Minute
)

// ErrNotInstalled says that the system does not have it.
var ErrNotInstalled = errors.New("PgBouncer is not installed (Debian: apt-get install pgbouncer)")

// Options say how the pooler behaves.
type Options struct {
	// Roles of the server may connect, with the passwords that they have there.
	Roles []string
	// Mode is transaction unless it is set.
	Mode string
	// PoolSize is how many connections to the server each role has for a database; unset: 20.
	PoolSize int
	// Ignored are startup parameters that are dropped instead of refused.
	Ignored []string
}

// Pooler is a running PgBouncer.
type Pooler struct {
	server   *postgres.Server
	instance service.Instance
	port     int
	process  service.Process
}

// Start starts a pooler that speaks TLS with a certificate from the server's authority, and returns when it listens. It
// ends with the calling process at the latest.
func Start(ctx context.Context, server *postgres.Server, o Options) (*Pooler, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	p := &Pooler{server: server}
	if err := removeAbandoned(); err != nil {
		return nil, fmt.Errorf("clear what an earlier run left: %w", err)
	}
	if p.instance, err = service.OpenInstance(kind, service.TemporaryName()); err != nil {
		return nil, err
	}
	if err := p.configure(o); err != nil {
		return nil, errors.Join(fmt.Errorf("configure PgBouncer: %w", err), p.instance.Remove())
	}
	if err := p.launch(ctx, program); err != nil {
		failure := &service.Failure{Err: fmt.Errorf("start PgBouncer: %w", err), Log: service.Tail(p.instance.Path("log"), 20)}
		return nil, errors.Join(failure, p.Remove(context.WithoutCancel(ctx)))
	}
	return p, nil
}

func find() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", ErrNotInstalled
}

func removeAbandoned() error {
	left, err := service.Abandoned(kind)
	for _, instance := range left {
		err = errors.Join(err, instance.Remove())
	}
	return err
}

func (p *Pooler) configure(o Options) (err error) {
	if p.port, err = service.FreePorts(1); err != nil {
		return err
	}
	if err := os.MkdirAll(p.instance.Dir, 0o755); err != nil {
		return err
	}
	if err := p.instance.Own(); err != nil {
		return err
	}
	ca, err := p.server.Authority()
	if err != nil {
		return err
	}
	pair, err := ca.Issue(authority.Request{CommonName: "relayfleet-pooler", Hosts: []string{service.Loopback, "localhost"}})
	if err != nil {
		return err
	}
	var users strings.Builder
	for _, role := range o.Roles {
		fmt.Fprintf(&users, "%q %q\n", role, p.server.Password(role))
	}
	for name, content := range map[string][]byte{
		"users": []byte(users.String()), "crt": pair.Certificate, "key": pair.Key, "ini": []byte(p.settings(o)), "log": nil,
	} {
		if err := service.WriteOwned(p.instance.Path(name), content, service.Unprivileged()); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pooler) settings(o Options) string {
	if o.Mode == "" {
		o.Mode = "transaction"
	}
	if o.PoolSize == 0 {
		o.PoolSize = 20
	}
	return fmt.Sprintf(`[databases]
* = host=%s port=%d
[pgbouncer]
listen_addr = %s
listen_port = %d
unix_socket_dir =
pool_mode = %s
default_pool_size = %d
max_client_conn = 500
auth_type = scram-sha-256
auth_file = %s
ignore_startup_parameters = %s
client_tls_sslmode = require
client_tls_cert_file = %s
client_tls_key_file = %s
server_tls_sslmode = verify-full
server_tls_ca_file = %s
`, service.Loopback, p.server.Port(), service.Loopback, p.port, o.Mode, o.PoolSize, p.instance.Path("users"),
		strings.Join(o.Ignored, ","), p.instance.Path("crt"), p.instance.Path("key"), p.server.CAFile())
}

func (p *Pooler) launch(ctx context.Context, program string) (err error) {
	p.process, err = service.Start(service.Command{
		Args: []string{program, p.instance.Path("ini")}, Dir: "/", LogFile: p.instance.Path("log"),
		User: service.Unprivileged(), DeathSignal: syscall.SIGKILL,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.Address())
		if err == nil {
			return conn.Close()
		}
		if !p.process.Alive() {
			return errors.New("it ended")
		}
		if err := service.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// Address is host and port.
func (p *Pooler) Address() string { return net.JoinHostPort(service.Loopback, strconv.Itoa(p.port)) }

// URI is a role's connection URI without TLS parameters, as a Secret has it.
func (p *Pooler) URI(database, role string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(role, p.server.Password(role)), Host: p.Address(), Path: "/" + database,
	}
	return u.String()
}

// Remove ends the pooler and deletes what it had.
func (p *Pooler) Remove(ctx context.Context) error {
	return errors.Join(p.process.End(ctx, syscall.SIGTERM, patience), p.instance.Remove())
}
