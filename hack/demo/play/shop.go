package play

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/demo/stage"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/test/load"
)

//go:embed orders.yaml
var ordersYAML string

const (
	namespace = "shop"
	topic     = "orders.events"
	// lease is that of orders.yaml.
	lease = 10 * time.Second
)

var table = outbox.Table{Schema: "relayfleet_demo", Name: "outbox"}

// shop is a fresh database, topic and namespace with one OutboxRelay in it.
type shop struct {
	stage  *stage.Stage
	pool   *pgxpool.Pool
	tables load.Tables
}

// openShop removes what an earlier play left, and begins anew.
func openShop(ctx context.Context, s *stage.Stage) (*shop, error) {
	if err := removeRelays(ctx, s.Kubectl); err != nil {
		return nil, err
	}
	if err := freshTopic(ctx, s.Admin()); err != nil {
		return nil, err
	}
	database, err := s.FreshDatabase(ctx, "shop")
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, database.URL)
	if err != nil {
		return nil, errors.New("connect to the database: its URL cannot be used") // The cause may show the password.
	}
	result := &shop{stage: s, pool: pool, tables: load.NewTables(pool, table)}
	if _, err := pool.Exec(ctx, "DROP SCHEMA IF EXISTS "+table.Schema+" CASCADE"); err != nil {
		return nil, fmt.Errorf("begin with empty tables: %w", err)
	}
	if err := result.tables.Create(ctx); err != nil {
		return nil, err
	}
	if err := s.Kubectl.Apply(ctx, namespaceAndSecrets(database)); err != nil {
		return nil, err
	}
	return result, s.Kubectl.Apply(ctx, relays(s, database))
}

func removeRelays(ctx context.Context, kubectl stage.Kubectl) error {
	if _, err := kubectl.Run(ctx, "delete", "outboxrelays", "--all", "-n", namespace, "--ignore-not-found", "--wait"); err != nil {
		return err
	}
	return stage.Await(ctx, time.Minute, "the relays of an earlier play end", func(ctx context.Context) (bool, string, error) {
		pods, err := relayPods(ctx, kubectl)
		return len(pods) == 0, fmt.Sprintf("%d are still there", len(pods)), err
	})
}

func freshTopic(ctx context.Context, cluster admin.Cluster) error {
	if err := cluster.DeleteTopic(ctx, topic); err != nil && !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		return err
	}
	return cluster.CreateTopic(ctx, admin.Topic{Name: topic, Partitions: 12, Replicas: 1})
}

// namespaceAndSecrets are as a database operator leaves them, in a namespace
// that admits only pods of the restricted profile.
func namespaceAndSecrets(d stage.Database) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: Secret
metadata: {name: orders-db-app, namespace: %[1]s}
stringData: {uri: %[2]q}
---
apiVersion: v1
kind: Secret
metadata: {name: orders-db-ca, namespace: %[1]s}
stringData: {ca.crt: %[3]q}
`, namespace, d.PodURL, d.CA)
}

func relays(s *stage.Stage, d stage.Database) string {
	tls := "{caFrom: {secretKeyRef: {name: orders-db-ca, key: ca.crt}}}"
	switch {
	case d.CA == "" && strings.Contains(d.PodURL, "sslmode=disable"):
		tls = "{mode: Disable}"
	case d.CA == "":
		tls = "{mode: Require}"
	}
	return strings.NewReplacer("${BROKERS}", strings.Join(s.PodBrokers, ", "), "${TLS}", tls).Replace(ordersYAML)
}

func (s *shop) close() { s.pool.Close() }
