package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/resources"
)

func TestInvalidObjectsAreRefusedWithWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func(object *unstructured.Unstructured) error {
		return admin.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	}
	refuses := func(name string, valid *unstructured.Unstructured, cases []invalid, do func(*unstructured.Unstructured) error) {
		for _, tc := range cases {
			t.Run(name+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				object := valid.DeepCopy()
				tc.change(object.Object)
				require.ErrorContains(t, do(object), tc.want)
			})
		}
	}
	relay, another := unstructuredOf(t, w.outbox()), replay(t, w.namespace)
	require.NoError(t, create(relay.DeepCopy()))
	require.NoError(t, create(another.DeepCopy()))
	refuses("relay", relay, invalidRelays(t), create)
	refuses("replay", another, invalidReplays(t), create)

	another.SetName("executed")
	require.NoError(t, unstructured.SetNestedField(another.Object, true, "spec", "execute"))
	require.NoError(t, admin.Create(t.Context(), another))
	refuses("executed replay", another, invalidReplayChanges(t), func(object *unstructured.Unstructured) error {
		return admin.Update(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	})
}

func TestWhatMayChangeOfAReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	object := replay(t, w.namespace)
	require.NoError(t, admin.Create(t.Context(), object))
	for field, value := range map[string]any{"execute": true, "suspend": true, "rowsPerSecond": int64(10), "activeDeadlineSeconds": int64(60)} {
		require.NoError(t, unstructured.SetNestedField(object.Object, value, "spec", field))
		require.NoError(t, admin.Update(t.Context(), object), field)
	}
}

// What goes together is accepted, and the relay takes it too: no rule is stricter at
// one of the two doors.
func TestValidObjectsAreAcceptedAndTheRelayReadsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	password := object("secretKeyRef", object("name", "orders", "key", "password"))
	oauth := func(address string) map[string]any {
		return object("bootstrapServers", []any{"kafka:9092"}, "tls", object(), "authentication", object("type", "OAUTHBEARER",
			"oauth", object("tokenEndpoint", address, "clientID", "c", "clientSecretFrom", password)))
	}
	wide := strings.Repeat("\u00e9", 31) + "a"
	for name, fields := range map[string]map[string]any{
		"template of columns":        object("topic", nil, "topicFrom", object("template", "{a}.{b}")),
		"template of a wide column":  object("topicFrom", object("template", "a.{\u00c4rger im Namen}")),
		"column with a topic":        object("topicFrom", object("column", "destination")),
		"preset with a topic":        object("topic", nil, "mapping", object("preset", "Debezium")),
		"claim as long as the lease": object("leaseDurationSeconds", int64(45), "maxClaimSeconds", int64(45)),
		"claim as long as unset":     object("maxClaimSeconds", int64(30)),
		"longest lease and claim":    object("leaseDurationSeconds", int64(3600), "maxClaimSeconds", int64(7200)),
		"longest lease alone":        object("leaseDurationSeconds", int64(3600)),
		"least memory":               object("maxBytesInFlight", int64(1<<20)),
		"most memory":                object("maxBytesInFlight", int64(1<<30)),
		"names of 63 bytes":          object("table", nil, "tableRef", object("schema", wide, "name", wide), "mapping", object("columns", object("key", wide))),
		"no such columns": object("mapping", object("columns", object("topic", "", "key", "", "headers", "", "attempts", "", "createdAt", "",
			"sentAt", "", "failedAt", "", "lastError", "", "priority", "", "claimToken", ""))),
		"no generation":            object("mapping", object("columns", object("generation", ""))),
		"no status of its own":     object("mapping", object("statuses", object("inProgress", "", "failed", ""))),
		"a fence for the lab":      object("mapping", object("preset", "Lab", "columns", object("generation", "", "claimToken", "claim"))),
		"statuses in a circle":     object("mapping", object("statuses", object("ready", "SENT", "sent", "READY"))),
		"order by a sequence":      object("ordering", object("mode", "Key"), "mapping", object("preset", "Token", "columns", object("sequence", "seq"))),
		"no order with a priority": object("ordering", object("mode", "None"), "priority", object("enabled", true, "oldestPercent", int64(50))),
		"order without priority":   object("ordering", object("mode", "Key"), "priority", object("enabled", false)),
		"delete what is sent":      object("retention", object("policy", "Delete", "sentSeconds", int64(60))),
		"delete what is consumed":  object("mapping", object("preset", "StatusCodes"), "retention", object("policy", "Delete", "statuses", []any{"4", "5"})),
		"delete sent codes":        object("mapping", object("preset", "StatusCodes"), "retention", object("policy", "Delete", "statuses", []any{"2"})),
		"delete a number's name":   object("mapping", object("preset", "StatusCodes"), "retention", object("policy", "Delete", "statuses", []any{"READY"})),
		"delete another FAILED":    object("mapping", object("statuses", object("failed", "DEAD")), "retention", object("policy", "Delete", "statuses", []any{"FAILED", "SENT"})),
		"notify":                   object("wakeUp", object("mode", "Notify", "channel", "c")),
		"poll through a pooler":    object("database", object("uriFrom", password, "pooling", "Transaction"), "wakeUp", object("mode", "Poll")),
		"scram without tls":        object("kafka", object("bootstrapServers", []any{"kafka:9092"}, "authentication", object("type", "SCRAM-SHA-256", "username", "u", "passwordFrom", password))),
		"token endpoint":           object("kafka", oauth("https://login.example.com:8443/realms/shop/token?a=b")),
		"token on loopback":        object("kafka", oauth("http://127.0.0.1:8080/token")),
		"token on IPv6":            object("kafka", oauth("https://[2001:db8::1]:8443/token")),
		"certificate unchecked":    object("kafka", object("bootstrapServers", []any{"kafka:9092"}, "tls", object("mode", "Require", "clientCertificateFrom", object("secretRef", object("name", "c"))))),
		"columns read under one name": object("mapping", object("columns", object("key", "id", "eventID", "id", "sequence", "id", "partitionKey", "created_at",
			"topic", "status", "contentType", "last_error", "priority", "attempts"))),
		"a header of what is written": object("mapping", object("headers", []any{object("name", "a", "column", "attempts")})),
		"a header of many bytes":      object("mapping", object("headers", []any{object("name", strings.Repeat("\u00e9", 249), "column", "c")})),
		"statuses of a dash":          object("mapping", object("preset", "Lab", "statuses", object("ready", "-"))),
		"twenty headers":              object("mapping", object("headers", headers(20))),
		"no size in mode Auto":        object("replicas", int64(0)),
		"a size in mode Manual":       object("replicas", int64(3), "scaling", object("mode", "Manual", "minReplicas", int64(5))),
		"no size in mode Manual":      object("scaling", object("mode", "Manual")),
		"every toleration":            object("pod", object("scheduling", object("tolerations", []any{object("operator", "Exists")}))),
		"a label of a prefix":         object("pod", object("labels", object("example.com/team", ""))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written := unstructuredOf(t, w.outbox())
			for field, value := range fields {
				if value == nil {
					unstructured.RemoveNestedField(written.Object, "spec", field)
					continue
				}
				require.NoError(t, unstructured.SetNestedField(written.Object, value, "spec", field))
			}
			require.NoError(t, admin.Create(t.Context(), written, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)))
			data, err := yaml.Marshal(written)
			require.NoError(t, err)
			var relay v1alpha1.OutboxRelay
			require.NoError(t, yaml.Unmarshal(data, &relay))
			_, err = resources.RenderSettings(&relay)
			require.NoError(t, err)
		})
	}
}

func headers(n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = object("name", fmt.Sprint("header-", i), "column", "c")
	}
	return all
}

// object is a map of names and values in turn.
func object(fields ...any) map[string]any {
	o := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		o[fields[i].(string)] = fields[i+1]
	}
	return o
}

func unstructuredOf(t *testing.T, o *v1alpha1.OutboxRelay) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.Marshal(o)
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(data, &object.Object))
	object.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("OutboxRelay"))
	unstructured.RemoveNestedField(object.Object, "status")
	return object
}

// A tool that compares what is stored with what was written must see no
// difference, also after the operator has worked on it.
func TestASampleReadBackIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, file := range relaysKind().sampleFiles(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.startOperator()
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var written unstructured.Unstructured
			require.NoError(t, yaml.Unmarshal(data, &written))
			written.SetNamespace(w.namespace)
			object := written.DeepCopy()
			require.NoError(t, admin.Create(t.Context(), object, client.FieldValidation(metav1.FieldValidationStrict)))
			require.Eventually(t, func() bool {
				var read v1alpha1.OutboxRelay
				require.NoError(t, admin.Get(context.Background(), client.ObjectKeyFromObject(&written), &read))
				return read.Status.ObservedGeneration == 1
			}, patience, pause)
			require.NoError(t, admin.Get(t.Context(), client.ObjectKeyFromObject(&written), object))
			require.JSONEq(t, specOf(t, &written), specOf(t, object))
			require.EqualValues(t, 1, object.GetGeneration())
		})
	}
}

func specOf(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	data, err := json.Marshal(object.Object["spec"])
	require.NoError(t, err)
	return string(data)
}

func TestTheCRDIsSmallEnoughForKubectlApply(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		data, err := os.ReadFile(k.definition())
		require.NoError(t, err)
		require.Less(t, len(data), 200<<10)
	}
}

// The operator of every test runs with the generated roles. They have no verb on
// Secrets.
func TestTheOperatorReadsNoSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "orders-db-app"}}
	w.create(secret)
	as, err := client.New(operator, client.Options{Scheme: admin.Scheme()})
	require.NoError(t, err)
	for verb, do := range map[string]func() error{
		"get":    func() error { return as.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}) },
		"list":   func() error { return as.List(t.Context(), &corev1.SecretList{}, client.InNamespace(w.namespace)) },
		"update": func() error { return as.Update(t.Context(), secret.DeepCopy()) },
		"delete": func() error { return as.Delete(t.Context(), secret.DeepCopy()) },
		"create": func() error {
			return as.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "x"}})
		},
	} {
		require.ErrorContains(t, do(), "forbidden", "%s of a Secret", verb)
	}
}
