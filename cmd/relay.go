package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
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
	tracker := relay.NewTracker(identity(s), s.BatchSize)
	opened, err := relay.Open(s, relay.Options{ //nolint:contextcheck // Opening connects nowhere; Run has the context.
		Name:   os.Getenv("POD_NAME"),
		Grace:  f.grace,
		Events: relay.Tee(tracker.Events(), relay.Logs(log)),
	})
	if err != nil {
		return err
	}
	defer opened.Close()

	stopServing, err := serve(ctx, f.listen, report.Handler(tracker.Report, opened.Ready, opened.Live), log)
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

func identity(s settings.Settings) report.Report {
	return report.Report{
		Namespace: s.Fleet.Namespace, Resource: s.Fleet.UID, Pod: os.Getenv("POD_UID"),
		Settings: s.Hash(), Build: version,
	}
}

// serve answers on address until the returned function is called: also while the
// relay stops, so that its last state can be read.
func serve(ctx context.Context, address string, handler http.Handler, log *slog.Logger) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve reports: %w", err)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 2 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second,
		MaxHeaderBytes: 8 << 10,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("Reports are not served any more", "error", err)
		}
	}()
	return func() { _ = server.Close(); <-ended }, nil
}
