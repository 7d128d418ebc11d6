package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// endpoint is something that is served at an address; an empty one serves nothing.
type endpoint struct {
	what     string
	address  string
	handler  http.Handler
	patience time.Duration
}

// serveAll answers until the returned function is called: also while a relay
// stops, so that its last state can be read.
func serveAll(ctx context.Context, log *slog.Logger, endpoints []endpoint) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for _, e := range endpoints {
		if e.address == "" {
			continue
		}
		one, err := e.serve(ctx, log)
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, one)
	}
	return stop, nil
}

func (e endpoint) serve(ctx context.Context, log *slog.Logger) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", e.address)
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", e.what, err)
	}
	server := &http.Server{
		Handler: e.handler, ReadHeaderTimeout: 2 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: e.patience,
		MaxHeaderBytes: 8 << 10,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("An endpoint is not served any more", "what", e.what, "error", err)
		}
	}()
	return func() { _ = server.Close(); <-ended }, nil
}

// loopback completes an address that names no host.
func loopback(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host != "" {
		return address
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// profiles are Go's own; they tell what is in memory, so they are served only on
// request.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
