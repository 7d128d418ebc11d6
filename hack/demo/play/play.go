// Package play is what the demo shows on its stage: a shop whose orders are
// published by a fleet that grows under a burst, survives the death of a relay,
// and shrinks again, with every event checked.
package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/hack/demo/stage"
	"github.com/relayfleet/relayfleet/test/load"
)

// Options say how large the play is.
type Options struct {
	// Burst is how many events are committed at once.
	Burst int
	// PerSecond is the rate of the rest.
	PerSecond float64
	// Steady is how long the first act takes.
	Steady time.Duration
}

// Small is enough to see every act; Usual takes about two minutes.
var (
	Small = Options{Burst: 30_000, PerSecond: 50, Steady: 3 * time.Second}
	Usual = Options{Burst: 60_000, PerSecond: 100, Steady: 10 * time.Second}
)

// Result is how a play ended.
type Result struct {
	Verdict load.Verdict
	// Grown is the most relays that were ready at once.
	Grown int
	// ExitCode is the killed relay's; 0 where nothing could be killed.
	ExitCode int
}

// Run plays, and shows on w what happens. Its error says what went wrong, the
// verdict's own included.
func Run(ctx context.Context, s *stage.Stage, o Options, w io.Writer) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	fmt.Fprintln(w, "A fresh database, topic and namespace; one OutboxRelay is applied ...")
	shop, err := openShop(ctx, s)
	if err != nil {
		return Result{}, err
	}
	defer shop.close()
	err = stage.Await(ctx, 2*time.Minute, "the relay is ready", func(ctx context.Context) (bool, string, error) {
		f, err := shop.fleet(ctx)
		ready, why := f.is("Ready")
		return ready && f.Status.ReadyReplicas > 0, why, err
	})
	if err != nil {
		return Result{}, err
	}
	p := &performance{shop: shop, options: o, faults: &load.Faults{}, table: newLiveTable(w, shop)}
	p.producer = load.NewProducer(shop.tables, load.Plan{Keys: 1000, RollBack: 0.05})
	p.consumer = load.NewConsumer(shop.tables, s.Admin(), topic)
	return p.perform(ctx)
}

type performance struct {
	shop     *shop
	options  Options
	faults   *load.Faults
	table    *liveTable
	producer *load.Producer
	consumer *load.Consumer
	result   Result
}

// perform runs load and table beside the acts, and ends with the verdict.
func (p *performance) perform(ctx context.Context) (Result, error) {
	consuming, stopConsuming := context.WithCancel(ctx)
	producing, stopProducing := context.WithCancel(ctx)
	var background sync.WaitGroup
	var consumerErr error
	background.Go(func() { consumerErr = p.consumer.Run(consuming) })
	background.Go(func() { p.producer.Run(producing, p.options.PerSecond) })
	background.Go(func() { p.table.run(consuming) })

	err := p.acts(ctx)
	stopProducing()
	if err == nil {
		p.table.say("checking every event")
		checker := load.Checker{Tables: p.shop.tables, Faults: p.faults, Lease: lease}
		p.result.Verdict, err = checker.Await(ctx, time.Minute)
	}
	stopConsuming()
	background.Wait()
	p.result.Grown = p.table.grown()
	if err != nil {
		return p.result, errors.Join(err, consumerErr)
	}
	return p.result, errors.Join(consumerErr, p.result.Verdict.Err())
}

func (p *performance) acts(ctx context.Context) error {
	p.table.say("steady")
	if err := sleep(ctx, p.options.Steady); err != nil {
		return err
	}
	p.table.say("burst")
	if err := p.burst(ctx); err != nil {
		return err
	}
	if err := p.kill(ctx); err != nil {
		return err
	}
	p.table.say("drain")
	if err := p.table.awaitDrained(ctx, 3*time.Minute); err != nil {
		return err
	}
	p.table.say("calm")
	return p.awaitRelays(ctx, "the fleet shrinks", func(f fleet) bool { return f.Status.Scaling.DesiredReplicas == 1 && f.Status.Replicas == 1 })
}

// burst commits events until the fleet has grown: how many one relay publishes
// before the next poll is the machine's affair, so that no number is enough anywhere.
func (p *performance) burst(ctx context.Context) error {
	return stage.Await(ctx, 3*time.Minute, "the fleet grows", func(ctx context.Context) (bool, string, error) {
		f, err := p.shop.fleet(ctx)
		if err != nil || f.Status.ReadyReplicas > 1 {
			return err == nil, "", err
		}
		if p.table.unsent() < int64(p.options.Burst)/2 && f.Status.Scaling.DesiredReplicas <= 1 {
			if err := p.producer.Burst(ctx, p.options.Burst); err != nil {
				return false, "", fmt.Errorf("commit the burst: %w", err)
			}
		}
		return false, fmt.Sprintf("%d relays are ready; %s", f.Status.ReadyReplicas, f.Status.Scaling.Message), nil
	})
}

func (p *performance) awaitRelays(ctx context.Context, what string, enough func(fleet) bool) error {
	return stage.Await(ctx, 3*time.Minute, what, func(ctx context.Context) (bool, string, error) {
		f, err := p.shop.fleet(ctx)
		return enough(f), fmt.Sprintf("%d relays are ready; %s", f.Status.ReadyReplicas, f.Status.Scaling.Message), err
	})
}

// killedByTheRuntime is the exit code of a process that SIGKILL ended.
const killedByTheRuntime = 137

// kill ends one relay in the middle of its work.
func (p *performance) kill(ctx context.Context) error {
	if !p.shop.stage.CanKill() {
		p.table.say("no kill: not possible on a cluster that is not ours")
		return nil
	}
	pods, err := relayPods(ctx, p.shop.stage.Kubectl)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if !pod.ready() {
			continue
		}
		p.table.say("SIGKILL to " + pod.Metadata.Name)
		end := p.faults.Begin("SIGKILL", pod.Metadata.Name)
		killed, err := p.shop.stage.Kill(ctx, namespace, pod.Metadata.Name)
		end()
		if err != nil {
			return err
		}
		p.result.ExitCode = killed.ExitCode
		if killed.ExitCode != killedByTheRuntime {
			return fmt.Errorf("pod %s ended with exit code %d, not %d", pod.Metadata.Name, killed.ExitCode, killedByTheRuntime)
		}
		return nil
	}
	return errors.New("no relay is ready to be killed")
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
