package cmd

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/relay"
	"github.com/relayfleet/relayfleet/relay/report"
	"github.com/relayfleet/relayfleet/relay/settings"
)

type relayFlags struct {
	config  string
	listen  string
	metrics string
	pprof   string
	grace   time.Duration
	verbose bool
}

func newRelay() *cobra.Command {
	var f relayFlags
	c := &cobra.Command{
		Use:   "relay --config FILE",
		Short: "Runs one relay, with or without Kubernetes",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return runRelay(c.Context(), f) },
	}
	c.Flags().StringVar(&f.config, "config", "", "the settings file (required)")
	c.Flags().StringVar(&f.listen, "listen", ":8080", "where the report and the probes are served")
	c.Flags().StringVar(&f.metrics, "metrics-listen", ":9090", "where Prometheus metrics are served; empty serves none")
	c.Flags().StringVar(&f.pprof, "pprof-listen", "", "where Go's profiles are served, on the loopback address unless another is given; empty serves none")
	c.Flags().DurationVar(&f.grace, "grace", 20*time.Second, "how long sends may go on after SIGTERM")
	c.Flags().BoolVar(&f.verbose, "verbose", false, "log debug lines too")
	_ = c.MarkFlagRequired("config") // The flag exists: it stands three lines up.
	return c
}

func runRelay(ctx context.Context, f relayFlags) error {
	s, err := settings.Load(f.config)
	if err != nil {
		return err
	}
	log := newLog(f.verbose).With("fleet", s.Fleet.Namespace+"/"+s.Fleet.Name)
	who, err := identity(s)
	if err != nil {
		return err
	}
	tracker, metrics := relay.NewTracker(who, s.BatchSize), relay.NewMetrics()
	opened, err := relay.Open(s, relay.Options{ //nolint:contextcheck // Opening connects nowhere; Run has the context.
		Name:   os.Getenv("POD_NAME"),
		Grace:  f.grace,
		Events: relay.Tee(tracker.Events(), metrics.Events(), relay.Logs(log)),
	})
	if err != nil {
		return err
	}
	defer opened.Close()

	stopServing, err := serveAll(ctx, log, []endpoint{
		{"reports", f.listen, report.Handler(tracker.Report, opened.Ready, opened.Live), 5 * time.Second},
		{"metrics", f.metrics, metrics.Handler(), 10 * time.Second},
		{"profiles", loopback(f.pprof), profiles(), 5 * time.Minute},
	})
	if err != nil {
		return err
	}
	defer stopServing()
	context.AfterFunc(ctx, tracker.Stopping)
	log.Info("Relay starts", "version", version, "table", s.Table.Schema+"."+s.Table.Name, "topic", s.Topic)
	opened.Run(ctx)
	log.Info("Relay has ended")
	return nil
}

func newLog(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

func identity(s settings.Settings) (report.Report, error) {
	limits, err := relay.Limits(s)
	return report.Report{
		Namespace: s.Fleet.Namespace, Resource: s.Fleet.UID, Pod: os.Getenv("POD_UID"),
		Settings: s.Hash(), Build: version, Limits: limits,
	}, err
}
