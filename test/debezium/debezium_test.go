package debezium

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
	"github.com/relayfleet/relayfleet/relay/settings"
	"github.com/relayfleet/relayfleet/test/relays"
)

// patience is more than any step takes on a busy machine.
const patience = 2 * time.Minute

// The relay's messages are the router's: topic, partition, key, value and headers
// are the same bytes. What Connect adds, unless it is switched off, to say which of
// its connectors has run, nobody else can have.
func TestMessagesAreTheRouters(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PostgreSQL and Kafka")
	}
	binary, err := relays.Build(t.Context(), t.TempDir())
	require.NoError(t, err)
	server := postgres.StartForTest(t, postgres.Options{NotDurable: true})
	require.NoError(t, server.CreateRole(t.Context(), "relay"))
	cluster := kafka.StartForTest(t, kafka.Options{})
	for _, r := range Recordings {
		t.Run(r.Name, func(t *testing.T) {
			want, err := r.Load(".")
			require.NoError(t, err)
			require.Len(t, want, Count())
			for _, topic := range Topics {
				require.NoError(t, cluster.Admin().CreateTopic(t.Context(), admin.Topic{Name: topic, Partitions: Partitions, Replicas: 1}))
			}
			began := time.Now().Truncate(time.Millisecond)
			got := r.relayed(t, binary, server, cluster)
			for i := range want {
				require.False(t, got[i].At.Before(began), "the time of a message is that of its sending, as the router's")
				got[i].At = time.Time{}
				require.Equal(t, r.withoutContext(want[i]), got[i])
			}
			for _, topic := range Topics {
				require.NoError(t, cluster.Admin().DeleteTopic(t.Context(), topic))
			}
		})
	}
}

// withoutContext takes away the headers that name the connector, its task and its run.
func (r Recording) withoutContext(m Message) Message {
	if r.Bare {
		return m
	}
	m.Headers = slices.DeleteFunc(m.Headers, func(h Header) bool { return strings.HasPrefix(h.Key, "__debezium.context.") })
	return m
}

// relayed is what a relay makes of the rows.
func (r Recording) relayed(t *testing.T, binary string, server *postgres.Server, cluster *kafka.Cluster) []Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := server.Connect(ctx, "postgres")
	require.NoError(t, err)
	defer conn.Close(ctx)
	require.NoError(t, r.CreateTable(ctx, conn))
	require.NoError(t, r.Insert(ctx, conn))
	_, err = conn.Exec(ctx, schema.Grants(r.Table(), outbox.Debezium(), "relay"))
	require.NoError(t, err)

	process, err := relays.Start(relays.Options{Binary: binary, Dir: t.TempDir(), Name: "relay", Settings: r.settings(t, server, cluster)})
	require.NoError(t, err)
	defer func() {
		require.NoError(t, process.Signal(syscall.SIGTERM))
		code, err := process.Wait(ctx)
		require.NoError(t, err)
		require.Zero(t, code)
	}()
	messages, err := Read(ctx, cluster.Addresses(), Count())
	output, _ := process.Output()
	require.NoError(t, err, output)
	requireSent(t, conn, r.Table())
	return messages
}

func requireSent(t *testing.T, conn *pgx.Conn, table outbox.Table) {
	t.Helper()
	require.Eventually(t, func() bool {
		var left int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+pgx.Identifier{table.Name}.Sanitize()+" WHERE status <> 'SENT'").Scan(&left))
		return left == 0
	}, patience, 20*time.Millisecond)
}

func (r Recording) settings(t *testing.T, server *postgres.Server, cluster *kafka.Cluster) settings.Settings {
	t.Helper()
	uri, _, _ := strings.Cut(server.URL("postgres", "relay"), "?")
	file := filepath.Join(t.TempDir(), "uri")
	require.NoError(t, os.WriteFile(file, []byte(uri), 0o600))
	s := settings.Settings{
		Fleet: settings.Fleet{Namespace: "shop", Name: r.Name, UID: "uid"}, Table: settings.Table(r.Table()),
		Mapping:  settings.Mapping{Preset: settings.PresetDebezium},
		Database: settings.Database{URIFile: file, TLS: settings.TLS{CAFile: server.CAFile()}},
		Kafka:    settings.Kafka{BootstrapServers: cluster.Addresses()},
	}
	if r.Placement != "" {
		for placed := range strings.SplitSeq(r.Placement, ",") {
			parts := strings.Split(placed, ":")
			s.Mapping.Headers = append(s.Mapping.Headers, settings.HeaderColumn{Column: parts[0], Name: parts[len(parts)-1]})
			if len(parts) == 2 {
				s.Mapping.Headers[len(s.Mapping.Headers)-1].Name = parts[0]
			}
		}
	}
	return s
}
