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

// choices are the fields that may contradict each other, and values of them.
var choices = []struct {
	path   string
	values []any
}{
	{"topic", []any{nil, "a.b", "..", "a b"}},
	{"topicFrom", []any{object("column", "t"), object("template", "{a}.{b}"), object("template", "x"), object("column", "t", "template", "{a}")}},
	{"leaseDurationSeconds", []any{int64(5), int64(60), int64(3600)}},
	{"maxClaimSeconds", []any{int64(29), int64(30), int64(60), int64(7200)}},
	{"mapping.preset", []any{"Relayfleet", "Lab", "StatusCodes", "Token", "Debezium"}},
	{"mapping.columns.sequence", []any{"", "seq"}},
	{"mapping.columns.partitionKey", []any{"", "born"}},
	{"mapping.columns.key", []any{"", "tenant"}},
	{"mapping.columns.priority", []any{"", "urgency"}},
	{"ordering.mode", []any{"None", "Key"}},
	{"ordering.onFailed", []any{"Halt", "Skip"}},
	{"priority.enabled", []any{true, false}},
	{"priority.oldestPercent", []any{int64(1), int64(50)}},
	{"retention.policy", []any{"Keep", "Delete"}},
	{"retention.sentSeconds", []any{int64(60)}},
	{"retention.statuses", []any{[]any{"4"}, []any{"4", "5"}}},
	{"database.pooling", []any{"Session", "Transaction"}},
	{"wakeUp", []any{object("mode", "Poll"), object("mode", "Notify"), object("channel", "c"), object("mode", "Notify", "channel", "c")}},
}

// drawSpec changes a few fields of a valid spec: among many, one that is wrong by
// itself would hide all others.
func drawSpec(t *rapid.T, spec map[string]any) {
	chosen := rapid.SliceOfNDistinct(rapid.IntRange(0, len(choices)-1), 0, 4, rapid.ID[int]).Draw(t, "chosen")
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
