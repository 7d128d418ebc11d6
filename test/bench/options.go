package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/relayfleet/relayfleet/relay/settings"
)

// options are the environment's wishes; doc.go lists them.
type options struct {
	benchmark string
	only      string
	events    int
	runs      int
	rate      int
	seconds   int
	peers     bool
	json      string
	// yours is nil unless a table of the user's is to be drained.
	yours *settings.Settings
}

// The benchmarks by the name that BENCH has.
const (
	throughput = ""
	history    = "history"
	heldXmin   = "xmin"
	retention  = "retention"
	byKey      = "order"
)

func readOptions() (options, error) {
	o := options{
		benchmark: os.Getenv("BENCH"), only: os.Getenv("BENCH_ONLY"),
		peers: os.Getenv("BENCH_PEERS") == "1", json: os.Getenv("BENCH_JSON"),
	}
	rate, seconds := 1000, 60
	switch o.benchmark {
	case throughput, history, retention, byKey:
	case heldXmin:
		rate, seconds = 3000, 120
	default:
		return o, fmt.Errorf("BENCH=%s: there is only %s, %s, %s and %s", o.benchmark, history, heldXmin, retention, byKey)
	}
	var err error
	o.yours, err = readYours()
	return o, errors.Join(err,
		number("BENCH_EVENTS", &o.events, 200_000), number("BENCH_RUNS", &o.runs, 1),
		number("BENCH_RATE", &o.rate, rate), number("BENCH_SECONDS", &o.seconds, seconds))
}

func number(name string, value *int, unset int) error {
	*value = unset
	text := os.Getenv(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return fmt.Errorf("%s=%s is not a number above 0", name, text)
	}
	*value = n
	return nil
}

func (o options) latencyFor() time.Duration { return time.Duration(o.seconds) * time.Second }

// wants tells whether something of that name is to be measured.
func (o options) wants(name string) bool { return strings.Contains(name, o.only) }

// readYours is the settings for a table of the user's; nil when none is named.
func readYours() (*settings.Settings, error) {
	file, uri := os.Getenv("BENCH_SETTINGS"), os.Getenv("BENCH_URI_FILE")
	if file == "" && uri == "" {
		return nil, nil
	}
	var s settings.Settings
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("BENCH_SETTINGS: %w", err)
		}
		if err := yaml.UnmarshalStrict(text, &s); err != nil {
			return nil, fmt.Errorf("BENCH_SETTINGS: %w", err)
		}
	}
	complete(&s.Database.URIFile, uri)
	complete(&s.Topic, os.Getenv("BENCH_TOPIC"))
	if servers := os.Getenv("BENCH_SERVERS"); servers != "" {
		s.Kafka.BootstrapServers = strings.Split(servers, ",")
	}
	if table := os.Getenv("BENCH_TABLE"); table != "" {
		schema, name, found := strings.Cut(table, ".")
		if !found {
			schema, name = "public", table
		}
		s.Table = settings.Table{Schema: schema, Name: name}
	}
	if s.Fleet.Name == "" {
		s.Fleet = settings.Fleet{Namespace: "bench", Name: "bench"}
	}
	return &s, nil
}

func complete(field *string, value string) {
	if value != "" {
		*field = value
	}
}
