package controllers

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/resources"
)

// Any combination of fields that may contradict each other is refused by the API
// server exactly when the relay would refuse the settings that come of it.
func TestAdmissionAndTheRelayRefuseTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := unstructuredOf(t, w.outbox())
	var accepted, refused int
	rapid.Check(t, func(rt *rapid.T) {
		for range 5 {
			written := plain.DeepCopy()
			drawSpec(rt, written.Object["spec"].(map[string]any))
			data, err := yaml.Marshal(written)
			require.NoError(rt, err)
			var relay v1alpha1.OutboxRelay
			require.NoError(rt, yaml.UnmarshalStrict(data, &relay))
			_, unreadable := resources.RenderSettings(&relay)
			err = admin.Create(t.Context(), written, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			require.Equal(rt, unreadable == nil, err == nil, "admission: %v\nrelay: %v\n%s", err, unreadable, data)
			if err == nil {
				accepted++
			} else {
				refused++
			}
		}
	})
	t.Logf("%d accepted, %d refused", accepted, refused)
	require.Greater(t, min(accepted, refused), 50)
}

// authority is where a certificate may be.
var authority = object("secretKeyRef", object("name", "ca", "key", "ca.crt"))

// choices are the fields that may contradict each other, and values of them.
var choices = []struct {
	path   string
	values []any
}{
	{"topic", []any{nil, "a.b", "..", "a b"}},
	{"topicFrom", []any{object("column", "t"), object("template", "a.{"+strings.Repeat("\u00e9", 40)+"}"), object("template", "{a}.{b}"), object("template", "x"), object("column", "t", "template", "{a}")}},
	{"leaseDurationSeconds", []any{int64(5), int64(60), int64(3600)}},
	{"maxClaimSeconds", []any{int64(29), int64(30), int64(60), int64(7200)}},
	{"mapping.preset", []any{"Relayfleet", "Lab", "StatusCodes", "Token", "Debezium"}},
	{"mapping.columns.sequence", []any{"", "seq", "id", "generation"}},
	{"mapping.columns.partitionKey", []any{"", "born", "created_at", "lease_until"}},
	{"mapping.columns.key", []any{"", "tenant", "event_id", "last_error"}},
	{"mapping.columns.priority", []any{"", "urgency", "attempts"}},
	{"mapping.columns.id", []any{"event_id", "id", "status", "claim_token"}},
	{"mapping.columns.eventID", []any{"event_id", "id", "claim_token"}},
	{"mapping.columns.payload", []any{"body", "id", "last_error"}},
	{"mapping.columns.status", []any{"send_status", "state", "created_at"}},
	{"mapping.columns.generation", []any{"", "generation", "attempts"}},
	{"mapping.columns.claimToken", []any{"", "claim_token", "event_id"}},
	{"mapping.columns.attempts", []any{"", "attempts", "generation"}},
	{"mapping.columns.leaseUntil", []any{"lease_until", "next_attempt_at"}},
	{"mapping.columns.nextAttemptAt", []any{"due", "sent_at", "failed_at"}},
	{"mapping.columns.createdAt", []any{"", "next_attempt_at", "born"}},
	{"mapping.columns.sentAt", []any{"", "sent_at", "failed_at", "created_at"}},
	{"mapping.columns.failedAt", []any{"", "failed_at", "sent_at"}},
	{"mapping.columns.lastError", []any{"", "last_error", "aggregate_key", "aggregateid", "key"}},
	{"mapping.statuses.ready", []any{"READY", "0", "PENDING", "-"}},
	{"mapping.statuses.inProgress", []any{"", "INPROGRESS", "1", "-"}},
	{"mapping.statuses.sent", []any{"SENT", "2", "READY", "-"}},
	{"mapping.statuses.failed", []any{"", "FAILED", "3", "SENT"}},
	{"mapping.headers", []any{[]any{object("name", strings.Repeat("\u00e9", 200), "column", "status")}}},
	{"ordering.mode", []any{"None", "Key"}},
	{"ordering.onFailed", []any{"Halt", "Skip"}},
	{"priority.enabled", []any{true, false}},
	{"priority.oldestPercent", []any{int64(1), int64(50)}},
	{"retention.policy", []any{"Keep", "Delete"}},
	{"retention.sentSeconds", []any{int64(60)}},
	{"retention.statuses", []any{
		[]any{"4"},
		[]any{"4", "5"},
		[]any{"SENT"},
		[]any{"FAILED"},
		[]any{"SENT", "READY"},
		[]any{"INPROGRESS"},
		[]any{"PENDING"},
		[]any{"0"},
		[]any{"3"},
		[]any{"-"},
		[]any{strings.Repeat("\u00e9", 40)},
	}},
	{"database.tls", []any{object("mode", "Require", "caFrom", authority), object("mode", "VerifyCA", "caFrom", authority), object("mode", "Disable")}},
	{"kafka.tls", []any{object("mode", "Require", "caFrom", authority), object("caFrom", authority), object("mode", "Require")}},
	{"kafka.bootstrapServers", []any{
		[]any{"a:1", "b.c:65535"},
		[]any{"[::1]:9092"},
		[]any{"::1:9092"},
		[]any{"a:09092"},
		[]any{"a:+1"},
		[]any{"a_b:1"},
		[]any{"a b:1"},
		[]any{"-a:1"},
		[]any{"a.:1"},
		[]any{"a:65536"},
		[]any{":9092"},
		[]any{"[a]:9092"},
		[]any{"[g]:9092"},
		[]any{"10.0.0.1:1"},
		[]any{"a,b:1"},
	}},
	{"database.pooling", []any{"Session", "Transaction"}},
	{"wakeUp", []any{object("mode", "Poll"), object("mode", "Notify"), object("channel", "c"), object("mode", "Notify", "channel", "c")}},
}

// drawSpec changes a few fields of a valid spec: among many, one that is wrong by
// itself would hide all others.
func drawSpec(t *rapid.T, spec map[string]any) {
	chosen := rapid.SliceOfNDistinct(rapid.IntRange(0, len(choices)-1), 0, 5, rapid.ID[int]).Draw(t, "chosen")
	slices.Sort(chosen) // A parent comes before its fields.
	for _, n := range chosen {
		c := choices[n]
		value := c.values[rapid.IntRange(0, len(c.values)-1).Draw(t, c.path)]
		if value == nil {
			unstructured.RemoveNestedField(spec, strings.Split(c.path, ".")...)
			continue
		}
		require.NoError(t, unstructured.SetNestedField(spec, value, strings.Split(c.path, ".")...))
	}
	if rapid.IntRange(0, 3).Draw(t, "kafka") == 0 {
		spec["kafka"] = drawKafka(t)
	}
}

func drawKafka(t *rapid.T) map[string]any {
	kafka := object("bootstrapServers", []any{"kafka:9092"})
	if rapid.Bool().Draw(t, "tls") {
		kafka["tls"] = object()
	}
	secret := object("secretKeyRef", object("name", "s", "key", "k"))
	login := object("type", rapid.SampledFrom([]string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"}).Draw(t, "type"))
	oauth := object("tokenEndpoint", rapid.SampledFrom(tokenEndpoints).Draw(t, "tokenEndpoint"), "clientID", "c", "clientSecretFrom", secret)
	right := rapid.IntRange(0, 2).Draw(t, "right") > 0
	for _, part := range []struct {
		name  string
		value any
		fits  bool
	}{
		{"username", "u", login["type"] != "OAUTHBEARER"},
		{"usernameFrom", secret, false},
		{"passwordFrom", secret, login["type"] != "OAUTHBEARER"},
		{"oauth", oauth, login["type"] == "OAUTHBEARER"},
	} {
		if right && part.fits || !right && rapid.Bool().Draw(t, part.name) {
			login[part.name] = part.value
		}
	}
	kafka["authentication"] = login
	return kafka
}

var tokenEndpoints = []string{
	"https://login.example.com/t", "https://login.example.com:8443/t?a=b@c", "https://[2001:db8::1]/t", "http://localhost:8080/t",
	"http://127.0.0.1/t", "http://[::1]:80/t", "https://login.example.com", "http://login.example.com/t", "https://u:p@login.example.com/t",
	"https://login.example.com/t#f", "https://login.example.com:x/t", "https:///t", "login.example.com/t", "https://a b/t", "https://a/%zz",
	"ftp://login.example.com/t", "http://localhost.example.com/t",
}
