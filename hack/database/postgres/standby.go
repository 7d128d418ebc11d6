package postgres

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/hack/service"
)

// StartStandby starts a server that follows s: a copy of its data that streams every change from it, asynchronously
// unless the settings of s say otherwise. Roles, passwords and the authority are those of s. It is read-only until
// Promote, and has to be removed like any other.
func (s *Server) StartStandby(ctx context.Context) (*Server, error) {
	options := s.state.Options
	ca, err := s.Authority()
	if err != nil {
		return nil, err
	}
	options.Name, options.Port, options.Authority = service.TemporaryName(), 0, ca
	options.Settings = maps.Clone(options.Settings)
	if options.Settings == nil {
		options.Settings = map[string]string{}
	}
	options.Settings["primary_conninfo"] = fmt.Sprintf("host=%s port=%d user=%s password=%s application_name=standby sslmode=verify-full sslrootcert=%s",
		s.state.Options.ListenAddresses[0], s.Port(), superuser, s.Password(superuser), s.CAFile())
	standby := &Server{steps: s.steps, state: state{Passwords: maps.Clone(s.state.Passwords)}}
	if standby.instance, err = service.OpenInstance(kind, options.Name); err != nil {
		return nil, err
	}
	unlock, err := standby.instance.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if options.DieWithCaller {
		if err := standby.instance.Own(); err != nil {
			return nil, err
		}
	}
	if err := s.backup(ctx, standby); err != nil {
		return nil, fmt.Errorf("copy the data of the primary: %w", err)
	}
	if err := standby.configure(options, s.state.Binaries); err != nil {
		return nil, err
	}
	if err := standby.launch(ctx); err != nil {
		return nil, standby.discard(ctx, err)
	}
	return standby, nil
}

// backup copies the data folder of a running server, as PostgreSQL's documentation has it: between a start and a stop
// of the backup, on one connection, without the file of the running process.
func (s *Server) backup(ctx context.Context, to *Server) error {
	conn, err := s.Connect(ctx, superuser)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // What matters has been answered by then.
	if _, err := conn.Exec(ctx, "SELECT pg_backup_start('standby', true)"); err != nil {
		return err
	}
	if err := service.Run(ctx, nil, s.instance.Dir, environment(), "/bin/cp", "-a", s.dataDir(), to.dataDir()); err != nil {
		return err
	}
	label, err := stopBackup(ctx, conn)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(to.dataDir(), "postmaster.pid")); err != nil {
		return err
	}
	user := service.Unprivileged()
	if err := service.WriteOwned(filepath.Join(to.dataDir(), "backup_label"), []byte(label), user); err != nil {
		return err
	}
	return service.WriteOwned(filepath.Join(to.dataDir(), "standby.signal"), nil, user)
}

func stopBackup(ctx context.Context, conn *pgx.Conn) (label string, err error) {
	err = conn.QueryRow(ctx, "SELECT labelfile FROM pg_backup_stop(false)").Scan(&label)
	return label, err
}

// Promote makes a standby a primary, and returns when it takes writes.
func (s *Server) Promote(ctx context.Context) error {
	if err := s.execute(ctx, "SELECT pg_promote(true, 60)"); err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if s.execute(ctx, "CREATE TEMPORARY TABLE writable ()") == nil {
			return nil
		}
		if err := service.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("promote: the server still takes no writes after %s", patience)
}
