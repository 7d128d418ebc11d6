package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
	"github.com/relayfleet/relayfleet/relay/settings"
	"github.com/relayfleet/relayfleet/test/relays"
)

var outboxTable = outbox.Table{Schema: "public", Name: "outbox"}

const insertEvents = `INSERT INTO outbox (event_id, key, payload)
	SELECT * FROM unnest($1::uuid[], $2::text[], $3::bytea[])`

// createOutbox makes the preset's table with its own indexes.
func (s *stage) createOutbox(ctx context.Context) error {
	ddl, err := schema.DDL("Relayfleet", outboxTable)
	if err != nil {
		return err
	}
	return s.exec(ctx, ddl, schema.Grants(outboxTable, outbox.Relayfleet(), relayRole))
}

// ours is one relay process.
type ours struct {
	binary string
	relay  *relays.Relay
	// ordering is that of the settings; the zero value is none.
	ordering settings.Ordering
}

func newOurs(ctx context.Context, dir string) (*ours, error) {
	binary, err := relays.Build(ctx, dir)
	return &ours{binary: binary}, err
}

func (*ours) name() string                      { return "relay" }
func (*ours) serverSettings() map[string]string { return nil }
func (*ours) insert() string                    { return insertEvents }

func (*ours) prepare(ctx context.Context, s *stage) (int, error) { return 0, s.createOutbox(ctx) }

func (o *ours) start(_ context.Context, s *stage) (err error) {
	uri, err := s.uriFile(relayRole)
	if err != nil {
		return err
	}
	return o.launch(s.dir, settings.Settings{
		Fleet:                settings.Fleet{Namespace: "bench", Name: "bench"},
		Table:                settings.Table(outboxTable),
		Topic:                s.topic,
		BatchSize:            batchSize,
		LeaseDurationSeconds: int(lease.Seconds()),
		Ordering:             o.ordering,
		Database:             settings.Database{URIFile: uri, TLS: settings.TLS{CAFile: s.server.CAFile()}},
		Kafka:                settings.Kafka{BootstrapServers: s.cluster.Addresses()},
	})
}

func (o *ours) launch(dir string, with settings.Settings) (err error) {
	o.relay, err = relays.Start(relays.Options{Binary: o.binary, Dir: dir, Name: "relay", Settings: with})
	return err
}

// settled waits until nothing is unsent. The rate is that between the first
// settle and the last, on the database's clock.
func (*ours) settled(ctx context.Context, s *stage) (perSecond float64, err error) {
	if err := s.awaitNone(ctx, "status IN ('READY', 'INPROGRESS')"); err != nil {
		return 0, err
	}
	return s.settleRate(ctx)
}

func (o *ours) process() service.Process {
	if o.relay == nil {
		return service.Process{}
	}
	return service.Process{PID: o.relay.PID()}
}

func (o *ours) stop(ctx context.Context) error {
	if o.relay == nil || !o.relay.Running() {
		return nil
	}
	if err := o.relay.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	code, err := o.relay.Wait(ctx)
	if err != nil || code == 0 {
		return err
	}
	output, _ := o.relay.Output() // It only explains.
	return fmt.Errorf("the relay ended with %d: %s", code, output[max(0, len(output)-2000):])
}

// awaitNone waits until there is no such row. It asks seldom, because asking is
// not part of what is measured.
func (s *stage) awaitNone(ctx context.Context, where string) error {
	deadline := time.Now().Add(10 * patience)
	for {
		var unsent bool
		err := s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM outbox WHERE "+where+")").Scan(&unsent)
		if err != nil {
			return fmt.Errorf("look whether all is sent: %w", err)
		}
		if !unsent {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("look whether all is sent: %w", os.ErrDeadlineExceeded)
		}
		if err := service.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *stage) settleRate(ctx context.Context) (perSecond float64, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE sent_at > (SELECT min(sent_at) FROM outbox)) / extract(epoch FROM max(sent_at) - min(sent_at))::float8
		FROM outbox WHERE status = 'SENT'`).Scan(&perSecond)
	if err != nil {
		return 0, fmt.Errorf("compute the rate: %w", err)
	}
	return perSecond, nil
}
