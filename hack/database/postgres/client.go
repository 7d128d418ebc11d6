package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/relayfleet/relayfleet/hack/service"
)

// Connect opens a connection as the superuser, from inside the server's network namespace if it has one.
func (s *Server) Connect(ctx context.Context, database string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(s.URL(database, superuser))
	if err != nil {
		return nil, err
	}
	config.DialFunc = service.Dialer{Netns: s.state.Options.Netns}.DialContext
	return pgx.ConnectConfig(ctx, config)
}

// Ping tells whether the server answers a query.
func (s *Server) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return s.execute(ctx, "SELECT")
}

// CreateRole makes a role that can log in, with a random password that URL then knows. One that was made before is kept.
func (s *Server) CreateRole(ctx context.Context, name string) error {
	if s.state.Passwords[name] != "" {
		return nil
	}
	password := rand.Text()
	// CREATE ROLE takes no parameters; the password is letters and digits.
	statement := "CREATE ROLE " + quote(name) + " LOGIN PASSWORD '" + password + "'"
	if err := s.execute(ctx, statement); err != nil {
		return fmt.Errorf("create role %s: %w", name, err)
	}
	s.state.Passwords[name] = password
	return s.instance.SaveState(s.state)
}

// CreateDatabase makes a database that owner owns; one that exists is kept.
func (s *Server) CreateDatabase(ctx context.Context, name, owner string) error {
	err := s.execute(ctx, "CREATE DATABASE "+quote(name)+" OWNER "+quote(owner))
	var refused *pgconn.PgError
	const duplicateDatabase = "42P04"
	if errors.As(err, &refused) && refused.Code == duplicateDatabase {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// execute runs a statement as the superuser.
func (s *Server) execute(ctx context.Context, statement string) error {
	conn, err := s.Connect(ctx, superuser)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
