package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/test/load"
)

const (
	keys         = 10_000
	payloadBytes = 512
	partitions   = 12
	batchSize    = 500
	lease        = 30 * time.Second
	database     = "shop"
	relayRole    = "relay"
	// patience is how long nothing may happen before a run has failed.
	patience = time.Minute
)

// serverSettings are those of a server whose memory is meant for its tables: the
// default of 128 MB is less than the outbox, and would measure the disk. It is
// as durable as PostgreSQL is unless somebody says otherwise.
var serverSettings = map[string]string{"shared_buffers": "2GB", "max_wal_size": "4GB"}

// stage is one measurement's surroundings: a server, database and topic that
// nobody has used before, on the run's one broker.
type stage struct {
	server  *postgres.Server
	pool    *pgxpool.Pool
	cluster *kafka.Cluster
	topic   string
	// dir takes files and goes with the stage.
	dir string
}

// stage starts a server with these settings beside the usual ones, and makes a
// topic unless cluster is nil.
func (b *bench) stage(ctx context.Context, cluster *kafka.Cluster, settings map[string]string) (s *stage, err error) {
	s = &stage{cluster: cluster}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	if s.dir, err = os.MkdirTemp(b.dir, "stage-"); err != nil {
		return s, err
	}
	all := maps.Clone(serverSettings)
	maps.Copy(all, settings)
	s.server, err = postgres.Start(ctx, postgres.Options{
		Settings: all, DieWithCaller: true, HBA: []string{"hostssl replication all 127.0.0.1/32 scram-sha-256"},
	})
	if err != nil {
		return s, fmt.Errorf("start the database: %w", err)
	}
	if err := errors.Join(s.server.CreateRole(ctx, relayRole), s.server.CreateDatabase(ctx, database, "postgres")); err != nil {
		return s, err
	}
	if s.pool, err = pgxpool.New(ctx, s.server.URL(database, "postgres")); err != nil {
		return s, err
	}
	if err := s.pool.QueryRow(ctx, "SHOW server_version").Scan(&b.table.Machine.Postgres); err != nil {
		return s, fmt.Errorf("ask for the version: %w", err)
	}
	if cluster == nil {
		return s, nil
	}
	return s, s.newTopic(ctx)
}

// brokerStage is a stage without a database.
func (b *bench) brokerStage(ctx context.Context) (s *stage, err error) {
	s = &stage{cluster: b.cluster}
	if s.dir, err = os.MkdirTemp(b.dir, "stage-"); err != nil {
		return s, err
	}
	return s, s.newTopic(ctx)
}

func (s *stage) newTopic(ctx context.Context) error {
	s.topic = filepath.Base(s.dir)
	return s.cluster.Admin().CreateTopic(ctx, admin.Topic{Name: s.topic, Partitions: partitions, Replicas: 1})
}

// close removes everything. It works after ctx has ended, too.
func (s *stage) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var errs []error
	if s.pool != nil {
		s.pool.Close()
	}
	if s.server != nil {
		errs = append(errs, s.server.Remove(ctx))
	}
	if s.topic != "" {
		errs = append(errs, s.cluster.Admin().DeleteTopic(ctx, s.topic))
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

func (s *stage) exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := s.pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return nil
}

// fill commits that many events by insert, which takes arrays of identities,
// keys and payloads, and leaves the table as a server at rest would have it.
func (s *stage) fill(ctx context.Context, insert string, events int) error {
	const chunk = 5000
	var (
		group sync.WaitGroup
		errs  [writers]error
	)
	for w := range writers {
		group.Go(func() {
			for done := w * chunk; done < events && errs[w] == nil; done += writers * chunk {
				ids, names, payloads := newEvents(done, min(chunk, events-done))
				_, errs[w] = s.pool.Exec(ctx, insert, ids, names, payloads)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("fill the table: %w", err)
	}
	return s.exec(ctx, "VACUUM ANALYZE", "CHECKPOINT")
}

// newEvents makes count events, the first of which is the number first: keys go
// round.
func newEvents(first, count int) (ids [][16]byte, names []string, payloads [][]byte) {
	for i := range count {
		e := load.NewEvent(fmt.Sprintf("key-%d", (first+i)%keys), payloadBytes)
		ids, names, payloads = append(ids, e.ID), append(names, e.Key), append(payloads, e.Payload)
	}
	return ids, names, payloads
}

// uriFile is a file with the URI of a role, as a relay takes it.
func (s *stage) uriFile(role string) (string, error) {
	u, err := url.Parse(s.server.URL(database, role))
	if err != nil {
		return "", err
	}
	u.RawQuery = ""
	file := filepath.Join(s.dir, "uri-"+role)
	return file, os.WriteFile(file, []byte(u.String()), 0o600)
}

// used is the processor time so far; relay says that of the relay.
func (s *stage) used(relay func() (time.Duration, error)) (u usage, err error) {
	if u.relay, err = relay(); err != nil {
		return u, err
	}
	if s.server != nil {
		if u.database, err = familyTime(s.server.Process()); err != nil {
			return u, err
		}
	}
	if s.cluster != nil {
		u.broker, err = processTime(s.cluster.Process(0).PID)
	}
	return u, err
}
