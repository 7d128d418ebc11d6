package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/relayfleet/relayfleet/hack/broker/kafka"
)

// machine says where figures come from.
type machine struct {
	Date      string `json:"date"`
	Cores     int    `json:"cores"`
	Processor string `json:"processor"`
	Load      string `json:"loadBefore"`
	Postgres  string `json:"postgres"`
	Kafka     string `json:"kafka"`
}

func (m machine) String() string {
	return fmt.Sprintf("%s: %d cores (%s), load before %s, PostgreSQL %s, Kafka %s", m.Date, m.Cores, m.Processor, m.Load, m.Postgres, m.Kafka)
}

func thisMachine() machine {
	m := machine{Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), Kafka: kafka.DefaultVersion}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, rest, _ := strings.Cut(string(text), "model name")
		line, _, _ := strings.Cut(rest, "\n")
		m.Processor = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	return m
}
