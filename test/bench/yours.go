package main

import (
	"context"
	"fmt"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/relay/report"
)

// yourTable drains a table of the user's with one relay process and reports what
// the relay says of it.
func (b *bench) yourTable(ctx context.Context) error {
	relay, err := newOurs(ctx, b.dir)
	if err != nil {
		return err
	}
	defer relay.stop(context.WithoutCancel(ctx)) //nolint:errcheck // The end below counts.
	if err := relay.launch(b.dir, *b.yours); err != nil {
		return err
	}
	r, err := b.watch(ctx, relay)
	if err != nil {
		return err
	}
	b.table.Results = append(b.table.Results, r)
	b.table.Machine.Postgres, b.table.Machine.Kafka = "yours", "yours"
	if err := relay.stop(ctx); err != nil {
		return err
	}
	return b.report()
}

// watch follows a relay until it finds nothing that is due. The rate is that of
// the last minute in which there was work, or of all when it took less.
func (b *bench) watch(ctx context.Context, relay *ours) (result, error) {
	var (
		best       result
		began      time.Time
		lastMoment = time.Now()
	)
	for {
		if err := service.Sleep(ctx, time.Second); err != nil {
			return best, err
		}
		said, err := relay.relay.Report(ctx)
		if err != nil {
			if !relay.relay.Running() {
				return best, relay.stop(ctx)
			}
			continue
		}
		if said.Rates.Published == 0 && began.IsZero() {
			if time.Since(lastMoment) > patience {
				return best, fmt.Errorf("nothing was published for a minute: database %s, schema %s, broker %s",
					said.Database.Code, said.Schema.Code, said.Broker.Code)
			}
			continue
		}
		if began.IsZero() {
			began = time.Now().Add(-time.Second)
		}
		if isDrained(said) {
			return best, nil
		}
		if best, err = rateOf(relay, said, time.Since(began)); err != nil {
			return best, err
		}
	}
}

func isDrained(said report.Report) bool {
	return said.Backlog != nil && said.Backlog.Eligible == 0 && said.Backlog.InFlight == 0
}

// rateOf is the relay's rate over the time that its report covers.
func rateOf(relay *ours, said report.Report, worked time.Duration) (r result, err error) {
	perSecond := float64(said.Rates.Published) / min(worked, time.Minute).Seconds()
	used, err := processTime(relay.relay.PID())
	if err != nil {
		return r, err
	}
	resident, err := maxResident(relay.relay.PID())
	if err != nil {
		return r, err
	}
	r = result{Name: "relay, your table", PerSecond: perSecond, ResidentMB: float64(resident) / (1 << 20)}
	r.Relay = perSecond * worked.Seconds() / used.Seconds()
	return r, nil
}
