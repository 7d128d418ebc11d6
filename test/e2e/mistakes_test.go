package e2e

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/demo/stage"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/test/load"
)

const mistakes = "mistakes"

// resource is what `kubectl get` shows of an OutboxRelay.
type resource struct {
	Status struct {
		Conditions []struct{ Type, Status, Reason, Message string }
	}
}

// podList is what `kubectl get pods` shows.
type podList struct {
	Items []struct {
		Metadata struct{ UID string }
		Status   struct {
			ContainerStatuses []struct{ RestartCount int }
		}
	}
}

// A resource is applied before anything that it needs: each thing that is
// missing or wrong has a reason and a sentence of its own, nothing is lost, and
// each is mended without a new pod.
func TestMistakesAreNamedAndMendedWithoutARestart(t *testing.T) {
	kubectl := onStage.Kubectl
	_, err := kubectl.Run(t.Context(), "delete", "namespace", mistakes, "--ignore-not-found", "--wait")
	require.NoError(t, err)
	database, err := onStage.FreshDatabase(t.Context(), mistakes)
	require.NoError(t, err)
	_ = onStage.Admin().DeleteTopic(t.Context(), mistakes) // It may be there from an earlier run.
	require.NoError(t, kubectl.Apply(t.Context(), fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: outbox.relayfleet.io/v1alpha1
kind: OutboxRelay
metadata: {name: orders, namespace: %[1]s}
spec:
  table: outbox
  topic: %[1]s
  leaseDurationSeconds: 10
  database:
    uriFrom: {secretKeyRef: {name: db-app, key: uri}}
    tls: {caFrom: {secretKeyRef: {name: db-ca, key: ca.crt}}}
  kafka: {bootstrapServers: [%[2]q]}
`, mistakes, onStage.PodBrokers[0])))

	awaitReason(t, "DatabaseReachable", "CredentialsMissing", `Secret "db-app" with key "uri" is missing`)
	pods := relayPods(t)

	require.NoError(t, kubectl.Apply(t.Context(), secrets(wrongPassword(t, database.PodURL), database.CA)))
	awaitReason(t, "DatabaseReachable", "DatabaseAuthenticationFailed", `Secret "db-app"`)
	require.NotContains(t, everythingSaid(t), "wrong-password")

	require.NoError(t, kubectl.Apply(t.Context(), secrets(database.PodURL, database.CA)))
	awaitReason(t, "SchemaValid", "TableMissing", `"public.outbox"`)

	pool, err := pgxpool.New(t.Context(), database.URL)
	require.NoError(t, err)
	defer pool.Close()
	tables := load.NewTables(pool, outbox.Table{Schema: "public", Name: "outbox"})
	require.NoError(t, tables.Create(t.Context()))
	require.NoError(t, load.NewProducer(tables, load.Plan{}).Burst(t.Context(), 2000))
	awaitReason(t, "BrokerReachable", "TopicMissing", `"mistakes"`)

	require.NoError(t, onStage.Admin().CreateTopic(t.Context(), admin.Topic{Name: mistakes, Partitions: 3, Replicas: 1}))
	awaitReason(t, "Ready", "RelaysRunning")
	require.NoError(t, drained(t, tables).Err())

	brokerDown(t, tables)
	require.Equal(t, pods, relayPods(t), "the same pod, never restarted")
	require.NotContains(t, everythingSaid(t), password(t, database.PodURL))
}

// brokerDown stops the broker, commits events meanwhile, and starts it again.
func brokerDown(t *testing.T, tables load.Tables) {
	t.Helper()
	broker := onStage.Broker()
	if broker == nil {
		t.Log("no real broker here: not stopped")
		return
	}
	require.NoError(t, broker.StopBroker(t.Context(), 0))
	require.NoError(t, load.NewProducer(tables, load.Plan{}).Burst(t.Context(), 2000))
	awaitReason(t, "BrokerReachable", "BrokerUnreachable", onStage.PodBrokers[0])
	require.NoError(t, broker.StartBroker(t.Context(), 0))
	awaitReason(t, "BrokerReachable", "Reachable")
	verdict := drained(t, tables)
	require.NoError(t, verdict.Err(), "an outage charges nobody and loses nothing")
}

func drained(t *testing.T, tables load.Tables) load.Verdict {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- load.NewConsumer(tables, onStage.Admin(), mistakes).Run(ctx) }()
	verdict, err := load.Checker{Tables: tables, Lease: 10 * time.Second}.Await(t.Context(), time.Minute)
	stop()
	require.NoError(t, err)
	require.NoError(t, <-ended)
	return verdict
}

// awaitReason waits until a condition has a reason, and wants its message to name
// things.
func awaitReason(t *testing.T, condition, reason string, names ...string) {
	t.Helper()
	var message string
	err := stage.Await(t.Context(), 3*time.Minute, condition+" has reason "+reason, func(ctx context.Context) (bool, string, error) {
		var r resource
		if err := onStage.Kubectl.Get(ctx, &r, "outboxrelay", "orders", "-n", mistakes); err != nil {
			return false, "", err
		}
		for _, c := range r.Status.Conditions {
			if c.Type == condition {
				message = c.Message
				return c.Reason == reason, fmt.Sprintf("it is %s, %s: %s", c.Status, c.Reason, c.Message), nil
			}
		}
		return false, "the condition is not there", nil
	})
	require.NoError(t, err)
	for _, name := range names {
		require.Contains(t, message, name)
	}
}

// relayPods are the uids of the relays' pods with how often they were restarted.
func relayPods(t *testing.T) map[string]int {
	t.Helper()
	var pods podList
	require.NoError(t, onStage.Kubectl.Get(t.Context(), &pods, "pods", "-n", mistakes))
	result := map[string]int{}
	for _, pod := range pods.Items {
		for _, container := range pod.Status.ContainerStatuses {
			result[pod.Metadata.UID] = container.RestartCount
		}
	}
	require.Len(t, result, 1)
	return result
}

// everythingSaid is what a person can read of the resource and its relays.
func everythingSaid(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, args := range [][]string{
		{"get", "outboxrelays,pods,deployments,configmaps,events", "-n", mistakes, "-o", "yaml"},
		{"logs", "-n", mistakes, "-l", "app.kubernetes.io/component=relay", "--tail=-1"},
		{"logs", "-n", "relayfleet-system", "deployment/relayfleet-manager", "--tail=-1"},
	} {
		out, err := onStage.Kubectl.Run(t.Context(), args...)
		require.NoError(t, err)
		require.NotEmpty(t, out)
		all.WriteString(out)
	}
	return all.String()
}

func secrets(uri, ca string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: db-app, namespace: %[1]s}
stringData: {uri: %[2]q}
---
apiVersion: v1
kind: Secret
metadata: {name: db-ca, namespace: %[1]s}
stringData: {ca.crt: %[3]q}
`, mistakes, uri, ca)
}

func wrongPassword(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	require.NoError(t, err)
	u.User = url.UserPassword(u.User.Username(), "wrong-password")
	return u.String()
}

func password(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	require.NoError(t, err)
	secret, ok := u.User.Password()
	require.True(t, ok)
	return secret
}
