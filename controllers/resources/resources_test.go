package resources

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/relay/settings"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// relay is the least that a user writes; a case changes what it is about.
func relay(change func(*v1alpha1.OutboxRelay)) *v1alpha1.OutboxRelay {
	r := &v1alpha1.OutboxRelay{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "orders", UID: "6f1c2f0e-0000-4000-8000-000000000001",
			// What a user keeps on the resource is not copied to its children.
			Annotations: map[string]string{"example.com/team": "checkout"}, Labels: map[string]string{"team": "checkout"},
		},
		Spec: v1alpha1.OutboxRelaySpec{
			Table: "outbox", Topic: "orders.events",
			Database: v1alpha1.Database{URIFrom: v1alpha1.SecretSource{
				SecretKeyRef: v1alpha1.KeyReference{Name: "orders-db-app", Key: "uri"},
			}},
			Kafka: v1alpha1.Kafka{BootstrapServers: []string{"kafka:9092"}},
		},
	}
	change(r)
	return r
}

// sample is the spec of a sample; everything and everything-else together have
// every field.
func sample(t *testing.T, name string) func(*v1alpha1.OutboxRelay) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", name+".yaml"))
	require.NoError(t, err)
	var read v1alpha1.OutboxRelay
	require.NoError(t, yaml.UnmarshalStrict(data, &read))
	return func(r *v1alpha1.OutboxRelay) { r.Spec = read.Spec }
}

func TestChildrenAreAsInTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.OutboxRelay){
		"minimal":         func(*v1alpha1.OutboxRelay) {},
		"everything":      sample(t, "everything"),
		"everything-else": sample(t, "everything-else"),
		"debezium":        sample(t, "debezium"),
		"ca-from-configmap": func(r *v1alpha1.OutboxRelay) {
			r.Spec.Database.TLS.CAFrom = &v1alpha1.CertificateSource{
				ConfigMapKeyRef: &v1alpha1.KeyReference{Name: "ca-bundle", Key: "root.pem"},
			}
		},
		"scram": func(r *v1alpha1.OutboxRelay) {
			r.Spec.Kafka.TLS = &v1alpha1.KafkaTLS{CAFrom: secretCertificate("shop-cluster-ca-cert", "ca.crt")}
			r.Spec.Kafka.Authentication = &v1alpha1.KafkaAuthentication{
				Type: "SCRAM-SHA-512", Username: "orders", PasswordFrom: secretValue("orders", "password"),
			}
		},
		"mutual-tls": func(r *v1alpha1.OutboxRelay) {
			r.Spec.Database.TLS.ClientCertificateFrom = clientCertificateIn("orders-db", "", "")
			r.Spec.Database.Pooling = v1alpha1.PoolingTransaction
			r.Spec.Kafka.TLS = &v1alpha1.KafkaTLS{ClientCertificateFrom: clientCertificateIn("orders", "user.crt", "user.key")}
		},
		"oauth": func(r *v1alpha1.OutboxRelay) {
			r.Spec.Kafka.TLS = &v1alpha1.KafkaTLS{Mode: "VerifyCA"}
			r.Spec.Kafka.Compression = "Zstd"
			r.Spec.Kafka.Authentication = &v1alpha1.KafkaAuthentication{Type: "OAUTHBEARER", OAuth: &v1alpha1.OAuth{
				TokenEndpoint: "https://login.example.com/token", ClientID: "orders", ClientSecretFrom: *secretValue("orders", "secret"),
				Scope: "kafka", Audience: "brokers", CAFrom: secretCertificate("login-ca", "ca.crt"),
			}}
		},
		"preset": func(r *v1alpha1.OutboxRelay) {
			r.Spec.Topic = ""
			r.Spec.TopicFrom = &v1alpha1.TopicFrom{Template: "events.{kind}"}
			r.Spec.MaxClaimSeconds, r.Spec.MaxBytesInFlight = 90, 8<<20
			r.Spec.Mapping = v1alpha1.Mapping{
				Preset: v1alpha1.PresetStatusCodes, Columns: v1alpha1.Columns{Key: new("tenant"), ClaimToken: new("")},
				Statuses: v1alpha1.Statuses{Failed: new("9")}, Headers: []v1alpha1.HeaderColumn{{Name: "tenant", Column: "tenant"}},
			}
			r.Spec.Ordering = v1alpha1.Ordering{Mode: "Key", OnFailed: "Skip"}
			r.Spec.Retention = v1alpha1.Retention{Policy: "Delete", SentSeconds: 3600, Statuses: []string{"4"}}
			r.Spec.WakeUp = v1alpha1.WakeUp{Mode: "Notify", Channel: "orders"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := relay(change)
			s, err := RenderSettings(r)
			require.NoError(t, err)
			_, err = settings.Parse(s.Content)
			require.NoError(t, err, "the relay has to read what is written for it")
			fleet := Fleet{Replicas: 3, Image: "registry.example.com/relayfleet:v1", Settings: s.Name}
			golden(t, name, ServiceAccount(r), ConfigMap(r, s), Deployment(r, fleet), DisruptionBudget(r),
				NetworkPolicy(r, "relayfleet-system"), PodMonitor(r))
		})
	}
}

func secretCertificate(name, key string) *v1alpha1.CertificateSource {
	return &v1alpha1.CertificateSource{SecretKeyRef: &v1alpha1.KeyReference{Name: name, Key: key}}
}

func secretValue(name, key string) *v1alpha1.SecretSource {
	return &v1alpha1.SecretSource{SecretKeyRef: v1alpha1.KeyReference{Name: name, Key: key}}
}

func clientCertificateIn(name, certificate, key string) *v1alpha1.ClientCertificateSource {
	return &v1alpha1.ClientCertificateSource{
		SecretRef: v1alpha1.ClientCertificateReference{Name: name, CertificateKey: certificate, PrivateKeyKey: key},
	}
}

func golden(t *testing.T, name string, objects ...any) {
	t.Helper()
	var parts []string
	for _, object := range objects {
		data, err := yaml.Marshal(object)
		require.NoError(t, err)
		parts = append(parts, string(data))
	}
	got := strings.Join(parts, "---\n")
	path := filepath.Join("testdata", name+".yaml")
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -rewrite to make it")
	require.Equal(t, string(want), got)
}

func TestSettingsAreWhatTheRelayReads(t *testing.T) {
	t.Parallel()
	s, err := RenderSettings(relay(sample(t, "everything")))
	require.NoError(t, err)
	read, err := settings.Parse(s.Content)
	require.NoError(t, err)
	require.Equal(t, settings.Table{Schema: "Payments", Name: "Outbox"}, read.Table)
	require.Equal(t, settings.TLSVerifyCA, read.Database.TLS.Mode)
	require.Zero(t, read.Retry.MaxAge())
	require.Equal(t, "6f1c2f0e-0000-4000-8000-000000000001", read.Fleet.UID)
	require.True(t, strings.HasSuffix(s.Name, read.Hash()))
}

// A field of the spec that reaches no relay would silently not happen.
func TestEverySettingComesFromASpec(t *testing.T) {
	t.Parallel()
	set := map[string]bool{}
	for _, name := range []string{"everything", "everything-else"} {
		s, err := RenderSettings(relay(sample(t, name)))
		require.NoError(t, err)
		var content map[string]any
		require.NoError(t, yaml.Unmarshal(s.Content, &content))
		addKeys(set, content, "")
	}
	for _, key := range keysOf(reflect.TypeFor[settings.Settings](), "") {
		if key != "kafka.authentication.username" { // In the golden file scram.
			require.True(t, set[key], key)
		}
	}
}

func addKeys(set map[string]bool, content map[string]any, prefix string) {
	for name, value := range content {
		set[prefix+name] = true
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[0]
		}
		if fields, ok := value.(map[string]any); ok {
			addKeys(set, fields, prefix+name+".")
		}
	}
}

func keysOf(t reflect.Type, prefix string) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			keys = append(append(keys, prefix+name), keysOf(field.Type, prefix+name+".")...)
		}
	}
	return keys
}

func TestAnotherSettingIsAnotherName(t *testing.T) {
	t.Parallel()
	first, err := RenderSettings(relay(func(*v1alpha1.OutboxRelay) {}))
	require.NoError(t, err)
	same, err := RenderSettings(relay(func(r *v1alpha1.OutboxRelay) { r.Spec.Scaling.MaxReplicas = 20 }))
	require.NoError(t, err)
	other, err := RenderSettings(relay(func(r *v1alpha1.OutboxRelay) { r.Spec.BatchSize = 10 }))
	require.NoError(t, err)
	require.Equal(t, first.Name, same.Name, "the size of the fleet is no setting of a relay")
	require.NotEqual(t, first.Name, other.Name)
}

func TestNoSecretReachesTheEnvironment(t *testing.T) {
	t.Parallel()
	d := Deployment(relay(sample(t, "everything")), Fleet{Replicas: 1, Image: "i", Settings: "s"})
	for _, env := range d.Spec.Template.Spec.Containers[0].Env {
		require.True(t, env.ValueFrom == nil || env.ValueFrom.SecretKeyRef == nil, *env.Name)
	}
	require.Empty(t, d.Spec.Template.Spec.Containers[0].EnvFrom)
}
