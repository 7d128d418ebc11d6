package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/service"
)

const (
	kind      = "database"
	superuser = "postgres"
	// patience is how long a start or a stop may take before it counts as failed.
	patience = 2 * time.Minute
)

// Server is a PostgreSQL server that this package started, running or not. It is for one goroutine at a time.
type Server struct {
	instance service.Instance
	state    state
	steps    service.Steps
}

// state is what a later command needs to find and use the server again.
type state struct {
	Options   Options           `json:"options"`
	Binaries  string            `json:"binaries"`
	Passwords map[string]string `json:"passwords"`
	Process   service.Process   `json:"process"`
}

// Start starts the server and returns when it answers. A server of that name that runs and answers is kept if it fits
// the options; one that was stopped or killed resumes with its data.
func Start(ctx context.Context, options Options) (*Server, error) {
	options = options.defaulted()
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	s := &Server{steps: service.Steps{Out: options.Progress}}
	bin, err := binaries(ctx, options.Version, s.steps)
	if err != nil {
		return nil, err
	}
	if err := service.AllowMissingAddresses(options.Netns); err != nil {
		return nil, err
	}
	if err := removeAbandoned(ctx); err != nil {
		return nil, fmt.Errorf("clear what an earlier run left: %w", err)
	}
	if s.instance, err = service.OpenInstance(kind, options.Name); err != nil {
		return nil, err
	}
	unlock, err := s.instance.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	kept, err := s.prepare(ctx, options, bin)
	if err != nil {
		return nil, err
	}
	if kept {
		return s, nil
	}
	if err := s.launch(ctx); err != nil {
		return nil, s.discard(ctx, err)
	}
	return s, nil
}

// discard cleans up after a launch that failed for the reason err. Only data that nobody can come back to is removed.
func (s *Server) discard(ctx context.Context, err error) error {
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if endErr := s.end(cleanup, syscall.SIGINT); endErr != nil {
		return errors.Join(err, endErr)
	}
	failure := &service.Failure{Err: err, Log: service.Tail(s.LogFile(), 20)}
	if s.state.Options.DieWithCaller {
		return errors.Join(failure, removeSharedMemory(s.dataDir()), s.instance.Remove())
	}
	failure.WayOn = "The data is kept in " + s.instance.Dir + ". Mend the cause and start again, or stop it to remove the data."
	return failure
}

// Find returns the server of that name, running or not; service.ErrNotFound when there is none.
func Find(name string) (*Server, error) {
	instance, err := service.OpenInstance(kind, name)
	if err != nil {
		return nil, err
	}
	s := &Server{instance: instance}
	return s, instance.LoadState(&s.state)
}

// prepare leaves the data and the configuration ready for a launch, or finds that the server can be kept as it runs.
func (s *Server) prepare(ctx context.Context, options Options, bin string) (kept bool, err error) {
	err = s.instance.LoadState(&s.state)
	if errors.Is(err, service.ErrNotFound) {
		return false, s.create(ctx, options, bin)
	}
	if err != nil {
		return false, err
	}
	if s.state.Process.Alive() {
		if why := s.state.Options.conflict(options); why != "" {
			return false, fmt.Errorf("database %q runs already and %s: stop it first", options.Name, why)
		}
		if s.Ping(ctx) == nil {
			return true, nil
		}
		if err := s.end(ctx, syscall.SIGINT); err != nil {
			return false, err
		}
	}
	if s.state.Options.Version != options.Version {
		return false, fmt.Errorf("database %q has data of version %d, not %d: remove it first", options.Name, s.state.Options.Version, options.Version)
	}
	if options.Port == 0 && options.Netns == s.state.Options.Netns {
		options.Port = s.state.Options.Port
	}
	return false, s.configure(options, bin)
}

// create makes a new data folder. A folder without a recorded state is what a start left that was killed.
func (s *Server) create(ctx context.Context, options Options, bin string) error {
	if err := s.instance.Clear(); err != nil {
		return err
	}
	if options.DieWithCaller {
		if err := s.instance.Own(); err != nil {
			return err
		}
	}
	s.state = state{Passwords: map[string]string{superuser: rand.Text()}}
	err := s.steps.Do("create a PostgreSQL "+strconv.Itoa(options.Version)+" data folder", 2*time.Second, func() error {
		return s.initdb(ctx, options, bin)
	})
	if err != nil {
		return errors.Join(err, s.instance.Remove())
	}
	return s.configure(options, bin)
}

func (s *Server) initdb(ctx context.Context, options Options, bin string) error {
	user := service.Unprivileged()
	if err := reachable(s.instance.Dir, user); err != nil {
		return err
	}
	if err := s.makeOwned(s.dataDir(), user); err != nil {
		return err
	}
	password := s.instance.Path("password")
	if err := service.WriteOwned(password, []byte(s.state.Passwords[superuser]), user); err != nil {
		return err
	}
	defer func() { _ = os.Remove(password) }() // The folder goes with the server.
	args := []string{
		filepath.Join(bin, "initdb"), "--pgdata", s.dataDir(), "--username", superuser, "--pwfile", password,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C",
	}
	if options.NotDurable {
		args = append(args, "--no-sync")
	}
	return service.Run(ctx, user, s.dataDir(), environment(), args...)
}

// launch starts the configured server and waits until it answers.
func (s *Server) launch(ctx context.Context) error {
	title := fmt.Sprintf("start PostgreSQL %d on port %d", s.state.Options.Version, s.state.Options.Port)
	if err := s.steps.Do(title, time.Second, func() error { return s.run(ctx) }); err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	return nil
}

func (s *Server) run(ctx context.Context) (err error) {
	command := service.Command{
		Args: []string{filepath.Join(s.state.Binaries, "postgres"), "-D", s.dataDir()},
		Dir:  s.dataDir(), Env: append(environment(), s.state.Options.Environment...), LogFile: s.LogFile(),
		Netns: s.state.Options.Netns, User: service.Unprivileged(),
	}
	if s.state.Options.DieWithCaller {
		// Not SIGKILL: PostgreSQL then has no chance to take its shared memory along.
		command.DeathSignal = syscall.SIGQUIT
	}
	if s.state.Process, err = service.Start(command); err != nil {
		return err
	}
	if err := s.instance.SaveState(s.state); err != nil {
		return err
	}
	return s.waitUntilReady(ctx)
}

func (s *Server) waitUntilReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := s.Ping(ctx)
		if err == nil {
			return nil
		}
		if !s.state.Process.Alive() {
			return errors.New("it ended")
		}
		if service.Sleep(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("it does not answer: %w", err)
		}
	}
}

// Stop ends the server the clean way (connections are cut, a checkpoint is written) and keeps its data.
func (s *Server) Stop(ctx context.Context) error { return s.end(ctx, syscall.SIGINT) }

// StopImmediate ends the server as if it had crashed: the next Resume recovers from the log. Its data is kept.
func (s *Server) StopImmediate(ctx context.Context) error { return s.end(ctx, syscall.SIGQUIT) }

// Kill ends the server and all its backends by SIGKILL, as the machine's out-of-memory killer would. Its data is kept.
func (s *Server) Kill(ctx context.Context) error {
	backends, err := s.state.Process.Children()
	if err != nil {
		return err
	}
	// The parent first: seeing a backend die it would begin to recover.
	for _, process := range append([]service.Process{s.state.Process}, backends...) {
		if err := process.End(ctx, syscall.SIGKILL, patience); err != nil {
			return err
		}
	}
	return removeSharedMemory(s.dataDir())
}

// Resume starts a server that was stopped or killed, with the data and at the port that it had.
func (s *Server) Resume(ctx context.Context) error {
	if s.Running() {
		return nil
	}
	return s.launch(ctx)
}

// Restart is Stop and Resume.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(ctx); err != nil {
		return err
	}
	return s.Resume(ctx)
}

// Remove ends the server and deletes all that it had. A server that does not end in time is killed.
func (s *Server) Remove(ctx context.Context) error {
	unlock, err := s.instance.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.end(ctx, syscall.SIGINT); err != nil {
		return err
	}
	if err := removeSharedMemory(s.dataDir()); err != nil {
		return err
	}
	return s.instance.Remove()
}

func (s *Server) end(ctx context.Context, signal syscall.Signal) error {
	if !s.state.Process.Alive() {
		return nil
	}
	backends, err := s.state.Process.Children()
	if err != nil {
		return err
	}
	if err := s.state.Process.End(ctx, signal, patience); err != nil {
		return err
	}
	// They end with their parent; only after a SIGKILL of the parent they may need a moment or more.
	for _, backend := range backends {
		if err := backend.End(ctx, syscall.SIGQUIT, patience); err != nil {
			return err
		}
	}
	return nil
}

// removeAbandoned ends and removes the servers of callers that ended without doing it.
func removeAbandoned(ctx context.Context) error {
	instances, err := service.Abandoned(kind)
	if err != nil {
		return err
	}
	for _, instance := range instances {
		s := &Server{instance: instance}
		if err := instance.LoadState(&s.state); err != nil && !errors.Is(err, service.ErrNotFound) {
			return err
		}
		if err := s.Remove(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Running tells whether the server's process is there.
func (s *Server) Running() bool { return s.state.Process.Alive() }

// Process is the server's main process, running or not.
func (s *Server) Process() service.Process { return s.state.Process }

// Options are those that the server runs with, defaults filled in.
func (s *Server) Options() Options { return s.state.Options }

// URL is the connection string of a role whose password this package knows (postgres, and those of CreateRole) at the
// first listen address.
func (s *Server) URL(database, role string) string {
	u := s.url(s.state.Options.ListenAddresses[0], database, role)
	if !s.state.Options.WithoutTLS {
		u.RawQuery = url.Values{"sslmode": {"verify-full"}, "sslrootcert": {s.CAFile()}}.Encode()
	}
	return u.String()
}

// PodURL is the connection string for a pod, which has the authority's certificate at a place of its own.
func (s *Server) PodURL(database, role string) string {
	u := s.url(service.PodAddress, database, role)
	if !s.state.Options.WithoutTLS {
		u.RawQuery = "sslmode=verify-full"
	}
	return u.String()
}

func (s *Server) url(host, database, role string) *url.URL {
	return &url.URL{
		Scheme: "postgres",
		User:   url.UserPassword(role, s.state.Passwords[role]),
		Host:   net.JoinHostPort(host, strconv.Itoa(s.state.Options.Port)),
		Path:   "/" + database,
	}
}

// Address is host and port at the first listen address.
func (s *Server) Address() string {
	return net.JoinHostPort(s.state.Options.ListenAddresses[0], strconv.Itoa(s.state.Options.Port))
}

// Port is where the server listens.
func (s *Server) Port() int { return s.state.Options.Port }

// Password is that of a role whose password this package knows; empty for others.
func (s *Server) Password(role string) string { return s.state.Passwords[role] }

// CAFile is the certificate of the server's authority, PEM; empty without TLS.
func (s *Server) CAFile() string {
	if s.state.Options.WithoutTLS {
		return ""
	}
	return s.instance.Path("tls", "ca.crt")
}

// Authority is the server's own authority, for client certificates; an error if the caller brought one.
func (s *Server) Authority() (*authority.Authority, error) {
	return authority.Load(s.CAFile(), s.instance.Path("tls", "ca.key"))
}

// LogFile is the server's log.
func (s *Server) LogFile() string { return s.instance.Path("server.log") }

// Dir is the folder with all that the server has.
func (s *Server) Dir() string { return s.instance.Dir }

func (s *Server) dataDir() string { return s.instance.Path("data") }
