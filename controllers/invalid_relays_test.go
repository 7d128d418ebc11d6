package controllers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// invalid is a change that makes an object invalid, and what the refusal says: what
// to write instead.
type invalid struct {
	name   string
	change func(map[string]any)
	want   string
}

// set writes a value, or removes what is there if value is nil.
func set(t *testing.T, value any, path ...string) func(map[string]any) {
	t.Helper()
	return func(o map[string]any) {
		if value == nil {
			unstructured.RemoveNestedField(o, path...)
			return
		}
		require.NoError(t, unstructured.SetNestedField(o, value, path...))
	}
}

func both(changes ...func(map[string]any)) func(map[string]any) {
	return func(o map[string]any) {
		for _, change := range changes {
			change(o)
		}
	}
}

func invalidRelays(t *testing.T) []invalid {
	t.Helper()
	long, bytes := strings.Repeat("a", 64), strings.Repeat("\u00e9", 32)
	spec := func(value any, path ...string) func(map[string]any) {
		return set(t, value, append([]string{"spec"}, path...)...)
	}
	tolerations := func(one any) func(map[string]any) { return spec([]any{one}, "pod", "scheduling", "tolerations") }
	uri := []string{"database", "uriFrom", "secretKeyRef"}
	password := object("secretKeyRef", object("name", "orders", "key", "password"))
	oauth := object("tokenEndpoint", "https://login.example.com/t", "clientID", "c", "clientSecretFrom", password)
	return []invalid{
		{name: "name too long", change: set(t, strings.Repeat("a", 51), "metadata", "name"), want: "use at most 50 characters"},
		{name: "name with a dot", change: set(t, "a.b", "metadata", "name"), want: "'-' in place of '.'"},
		{name: "no table", change: spec(nil, "table"), want: "write exactly one of table"},
		{name: "table twice", change: spec(map[string]any{"schema": "a", "name": "b"}, "tableRef"), want: "write exactly one of table"},
		{name: "upper case table", change: spec("public.Outbox", "table"), want: "any other name goes into tableRef"},
		{name: "table of 3 parts", change: spec("a.b.c", "table"), want: "write schema.table or table"},
		{name: "table name long", change: spec(long, "table"), want: "each at most 63 long"},
		{name: "table injection", change: spec("outbox; drop table x", "table"), want: "write schema.table or table"},
		{name: "tableRef no name", change: both(spec(nil, "table"), spec(map[string]any{"schema": "a"}, "tableRef")), want: "spec.tableRef.name: Required value"},
		{name: "tableRef too long", change: both(spec(nil, "table"), spec(map[string]any{"schema": "a", "name": long}, "tableRef")), want: "may not be more than 63"},
		{name: "no topic", change: spec(nil, "topic"), want: "write topic: it is where events go"},
		{name: "topic with space", change: spec("orders events", "topic"), want: "write a Kafka topic name"},
		{name: "topic of dots", change: spec("..", "topic"), want: "write a Kafka topic name"},
		{name: "topic too long", change: spec(strings.Repeat("a", 250), "topic"), want: "may not be more than 249"},
		{name: "lease too short", change: spec(int64(4), "leaseDurationSeconds"), want: "greater than or equal to 5"},
		{name: "lease too long", change: spec(int64(3601), "leaseDurationSeconds"), want: "less than or equal to 3600"},
		{name: "no batch", change: spec(int64(0), "batchSize"), want: "greater than or equal to 1"},
		{name: "batch too large", change: spec(int64(10001), "batchSize"), want: "less than or equal to 10000"},
		{name: "batch as text", change: spec("many", "batchSize"), want: "must be of type integer"},
		{name: "no database", change: spec(nil, "database"), want: "spec.database: Required value"},
		{name: "no secret name", change: spec(nil, append(uri, "name")...), want: "secretKeyRef.name: Required value"},
		{name: "no secret key", change: spec(nil, append(uri, "key")...), want: "secretKeyRef.key: Required value"},
		{name: "secret elsewhere", change: spec("other/secret", append(uri, "name")...), want: "write the name of an object in this namespace"},
		{name: "key is a path", change: spec("../uri", append(uri, "key")...), want: "write a key of the object's data"},
		{name: "key of dots", change: spec("..uri", append(uri, "key")...), want: "not starting with two dots"},
		{name: "tls mode of libpq", change: spec("verify-full", "database", "tls", "mode"), want: `supported values: "VerifyFull", "VerifyCA", "Require", "Disable"`},
		{
			name: "ca without check",
			change: both(spec("Require", "database", "tls", "mode"),
				spec(map[string]any{"secretKeyRef": map[string]any{"name": "ca", "key": "ca.crt"}}, "database", "tls", "caFrom")),
			want: "write mode VerifyFull or VerifyCA, or leave caFrom out",
		},
		{name: "ca from nowhere", change: spec(map[string]any{}, "database", "tls", "caFrom"), want: "write exactly one of secretKeyRef and configMapKeyRef"},
		{
			name: "ca from both",
			change: spec(map[string]any{
				"secretKeyRef":    map[string]any{"name": "ca", "key": "ca.crt"},
				"configMapKeyRef": map[string]any{"name": "ca", "key": "ca.crt"},
			}, "database", "tls", "caFrom"),
			want: "write exactly one of secretKeyRef and configMapKeyRef",
		},
		{name: "no broker", change: spec(nil, "kafka"), want: "spec.kafka: Required value"},
		{name: "empty broker list", change: spec([]any{}, "kafka", "bootstrapServers"), want: "should have at least 1 items"},
		{name: "broker without port", change: spec([]any{"kafka"}, "kafka", "bootstrapServers"), want: "write host:port, such as kafka:9092"},
		{name: "broker with scheme", change: spec([]any{"kafka://kafka:9092"}, "kafka", "bootstrapServers"), want: "without a scheme"},
		{name: "broker port too high", change: spec([]any{"kafka:65536"}, "kafka", "bootstrapServers"), want: "write host:port"},
		{name: "brokers in one string", change: spec([]any{"a:9092,b:9092"}, "kafka", "bootstrapServers"), want: "write host:port"},
		{name: "no attempts", change: spec(int64(0), "retry", "maxAttempts"), want: "greater than or equal to 1"},
		{name: "back-off falls", change: spec(map[string]any{"backoffSeconds": int64(10), "maxBackoffSeconds": int64(9)}, "retry"), want: "must not be less than backoffSeconds"},
		{name: "back-off under default", change: spec(int64(4), "retry", "maxBackoffSeconds"), want: "backoffSeconds (5 when unset)"},
		{name: "negative age", change: spec(int64(-1), "retry", "maxAgeSeconds"), want: "greater than or equal to 0"},
		{name: "no relays", change: spec(int64(0), "scaling", "minReplicas"), want: "greater than or equal to 1"},
		{name: "too many relays", change: spec(int64(101), "scaling", "maxReplicas"), want: "less than or equal to 100"},
		{name: "minimum over maximum", change: spec(map[string]any{"minReplicas": int64(3), "maxReplicas": int64(2)}, "scaling"), want: "maxReplicas (10 when unset) must not be less"},
		{name: "minimum over default", change: spec(int64(11), "scaling", "minReplicas"), want: "maxReplicas (10 when unset) must not be less"},
		{name: "no target", change: spec(int64(0), "scaling", "targetBacklogAgeSeconds"), want: "greater than or equal to 1"},
		{name: "down window too short", change: spec(int64(9), "scaling", "scaleDownWindowSeconds"), want: "greater than or equal to 10"},
		{name: "up window too long", change: spec(int64(3601), "scaling", "scaleUpWindowSeconds"), want: "less than or equal to 3600"},
		{name: "negative cooldown", change: spec(int64(-1), "scaling", "cooldownSeconds"), want: "greater than or equal to 0"},
		{name: "image with a space", change: spec("a b", "image"), want: "write an image reference without spaces"},
		{name: "quantity that is none", change: spec("lots", "pod", "resources", "limits", "memory"), want: "spec.pod.resources.limits.memory"},
		{name: "field that is not there", change: spec(int64(3), "relays"), want: `unknown field "spec.relays"`},
		{name: "topic column alone", change: both(spec(nil, "topic"), spec(object("column", "topic"), "topicFrom")), want: "write topic: it is where events go"},
		{name: "topic of two kinds", change: spec(object("column", "a", "template", "a.{b}"), "topicFrom"), want: "write exactly one of column and template"},
		{name: "topic of nothing", change: spec(object(), "topicFrom"), want: "write exactly one of column and template"},
		{name: "template without column", change: spec(object("template", "events"), "topicFrom"), want: "at least one column in braces"},
		{name: "template not closed", change: spec(object("template", "a.{b"), "topicFrom"), want: "at least one column in braces"},
		{name: "template with a space", change: spec(object("template", "a {b}"), "topicFrom"), want: "at least one column in braces"},
		{name: "claim shorter than lease", change: both(spec(int64(60), "leaseDurationSeconds"), spec(int64(59), "maxClaimSeconds")), want: "maxClaimSeconds must not be less"},
		{name: "claim shorter than unset", change: spec(int64(29), "maxClaimSeconds"), want: "leaseDurationSeconds (30 when unset)"},
		{name: "claim for days", change: spec(int64(7201), "maxClaimSeconds"), want: "less than or equal to 7200"},
		{name: "hardly any memory", change: spec(int64(1000), "maxBytesInFlight"), want: "greater than or equal to 1048576"},
		{name: "too much memory", change: spec(int64(1<<30+1), "maxBytesInFlight"), want: "less than or equal to 1073741824"},
		{name: "pooler by name", change: spec("PgBouncer", "database", "pooling"), want: `supported values: "Session", "Transaction"`},
		{name: "client certificate unused", change: both(spec("Disable", "database", "tls", "mode"), spec(object("secretRef", object("name", "c")), "database", "tls", "clientCertificateFrom")), want: "clientCertificateFrom is not used with mode Disable"},
		{name: "client certificate no name", change: spec(object("secretRef", object("certificateKey", "a")), "database", "tls", "clientCertificateFrom"), want: "secretRef.name: Required value"},
		{name: "client key is a path", change: spec(object("secretRef", object("name", "c", "privateKeyKey", "../k")), "kafka", "tls", "clientCertificateFrom"), want: "write a key of the Secret's data"},
		{name: "kafka tls disabled", change: spec(object("mode", "Disable"), "kafka", "tls"), want: `supported values: "VerifyFull", "VerifyCA", "Require"`},
		{name: "kafka ca without check", change: spec(object("mode", "Require", "caFrom", object("secretKeyRef", object("name", "ca", "key", "ca.crt"))), "kafka", "tls"), want: "caFrom is not used with mode Require"},
		{name: "mechanism unknown", change: spec(object("type", "GSSAPI"), "kafka", "authentication"), want: `supported values: "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"`},
		{name: "password in plain text", change: spec(object("type", "PLAIN", "username", "u", "passwordFrom", password), "kafka", "authentication"), want: "write tls too"},
		{name: "scram without user", change: spec(object("type", "SCRAM-SHA-512", "passwordFrom", password), "kafka", "authentication"), want: "write exactly one of username and usernameFrom"},
		{name: "scram with two users", change: spec(object("type", "SCRAM-SHA-512", "username", "u", "usernameFrom", password, "passwordFrom", password), "kafka", "authentication"), want: "write exactly one of username and usernameFrom"},
		{name: "scram without password", change: spec(object("type", "SCRAM-SHA-512", "username", "u"), "kafka", "authentication"), want: "write passwordFrom"},
		{name: "scram with oauth", change: spec(object("type", "SCRAM-SHA-512", "username", "u", "passwordFrom", password, "oauth", oauth), "kafka", "authentication"), want: "write oauth with type OAUTHBEARER"},
		{name: "oauth without oauth", change: both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER"), "kafka", "authentication")), want: "write oauth with type OAUTHBEARER"},
		{name: "oauth with a user", change: both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "username", "u", "oauth", oauth), "kafka", "authentication")), want: "write oauth alone"},
		{name: "oauth without tls", change: spec(object("type", "OAUTHBEARER", "oauth", oauth), "kafka", "authentication"), want: "write tls too"},
		{name: "token over plain http", change: both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "http://login.example.com/t", "clientID", "c", "clientSecretFrom", password)), "kafka", "authentication")), want: "write an https address"},
		{name: "token with a user", change: both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "https://me:secret@login.example.com/t", "clientID", "c", "clientSecretFrom", password)), "kafka", "authentication")), want: "write an https address"},
		{name: "compression unknown", change: spec("gzip", "kafka", "compression"), want: `supported values: "LZ4", "Zstd", "None"`},
		{name: "preset unknown", change: spec("Oracle", "mapping", "preset"), want: `supported values: "Relayfleet", "Lab", "StatusCodes", "Token", "Debezium"`},
		{name: "no id column", change: spec(object("id", ""), "mapping", "columns"), want: "mapping.columns.id in body should be at least 1 chars long"},
		{name: "column too long", change: spec(object("key", long), "mapping", "columns"), want: "may not be more than 63"},
		{name: "no fence", change: spec(object("generation", "", "claimToken", ""), "mapping", "columns"), want: "map columns.generation or columns.claimToken"},
		{name: "no ready status", change: spec(object("ready", ""), "mapping", "statuses"), want: "mapping.statuses.ready in body should be at least 1 chars long"},
		{name: "column unknown", change: spec(object("topik", "t"), "mapping", "columns"), want: `unknown field "spec.mapping.columns.topik"`},
		{name: "header twice", change: spec([]any{object("name", "a", "column", "b"), object("name", "a", "column", "c")}, "mapping", "headers"), want: "Duplicate value"},
		{name: "header of nothing", change: spec([]any{object("name", "a")}, "mapping", "headers"), want: "column: Required value"},
		{name: "order unknown", change: spec("Global", "ordering", "mode"), want: `supported values: "None", "Key"`},
		{name: "onFailed without order", change: spec(object("onFailed", "Skip"), "ordering"), want: "onFailed is only for mode Key"},
		{name: "order and priority", change: both(spec(object("mode", "Key"), "ordering"), spec(object("enabled", true), "priority")), want: "priority contradicts ordering mode Key"},
		{name: "order without a key", change: both(spec(object("mode", "Key"), "ordering"), spec(object("key", ""), "mapping", "columns")), want: "ordering mode Key needs a key"},
		{name: "priority of nothing", change: both(spec("Lab", "mapping", "preset"), spec(object("enabled", true), "priority")), want: "priority needs a column"},
		{name: "order without a sequence", change: both(spec(object("mode", "Key"), "ordering"), spec("Token", "mapping", "preset")), want: "map mapping.columns.sequence"},
		{name: "share without priority", change: spec(object("oldestPercent", int64(10)), "priority"), want: "oldestPercent is only for enabled: true"},
		{name: "share of everything", change: spec(object("enabled", true, "oldestPercent", int64(51)), "priority"), want: "less than or equal to 50"},
		{name: "window without delete", change: spec(object("sentSeconds", int64(3600)), "retention"), want: "only for policy Delete"},
		{name: "window too short", change: spec(object("policy", "Delete", "sentSeconds", int64(59)), "retention"), want: "greater than or equal to 60"},
		{name: "delete what failed", change: spec(object("policy", "Delete", "statuses", []any{"FAILED"}), "retention"), want: "must name only what is done"},
		{name: "delete codes unconsumed", change: both(spec("StatusCodes", "mapping", "preset"), spec(object("policy", "Delete"), "retention")), want: "write retention.statuses"},
		{name: "delete codes that wait", change: both(spec("StatusCodes", "mapping", "preset"), spec(object("policy", "Delete", "statuses", []any{"0"}), "retention")), want: "must name only what is done"},
		{name: "notify without channel", change: spec(object("mode", "Notify"), "wakeUp"), want: "mode Notify and channel belong together"},
		{name: "channel without notify", change: spec(object("channel", "c"), "wakeUp"), want: "mode Notify and channel belong together"},
		{name: "notify through a pooler", change: both(spec("Transaction", "database", "pooling"), spec(object("mode", "Notify", "channel", "c"), "wakeUp")), want: "such a pooler passes no notifications on"},
		{name: "names of many bytes", change: spec(object("schema", bytes, "name", "b"), "tableRef"), want: "write at most 63 bytes"},
		{name: "topic column of bytes", change: spec(object("column", bytes), "topicFrom"), want: "write at most 63 bytes"},
		{name: "column of many bytes", change: spec(object("lastError", bytes), "mapping", "columns"), want: "write at most 63 bytes"},
		{name: "status of many bytes", change: spec(object("sent", bytes), "mapping", "statuses"), want: "write at most 63 bytes"},
		{name: "header column of bytes", change: spec([]any{object("name", "a", "column", bytes)}, "mapping", "headers"), want: "write at most 63 bytes"},
		{name: "channel of many bytes", change: spec(object("mode", "Notify", "channel", bytes), "wakeUp"), want: "write at most 63 bytes"},
		{name: "no fence of the lab", change: spec(object("preset", "Lab", "columns", object("generation", "")), "mapping"), want: "map columns.generation or columns.claimToken"},
		{name: "no fence of a token", change: spec(object("preset", "Token", "columns", object("claimToken", "")), "mapping"), want: "map columns.generation or columns.claimToken"},
		{name: "claims not told", change: spec(object("preset", "Lab", "statuses", object("inProgress", "")), "mapping"), want: "map columns.claimToken where statuses.inProgress is empty"},
		{name: "status of two states", change: spec(object("sent", "READY"), "mapping", "statuses"), want: "write four different statuses"},
		{name: "code of two states", change: spec(object("preset", "StatusCodes", "statuses", object("failed", "2")), "mapping"), want: "write four different statuses"},
		{name: "columns of one name", change: spec(object("attempts", "lease_until"), "mapping", "columns"), want: "what a claim writes needs a column of its own"},
		{name: "id that a claim writes", change: spec(object("id", "status"), "mapping", "columns"), want: "what a claim writes needs a column of its own"},
		{name: "order that a claim writes", change: spec(object("preset", "Lab", "columns", object("sequence", "generation")), "mapping"), want: "what a claim writes needs a column of its own"},
		{name: "age that a claim writes", change: spec(object("preset", "Debezium", "columns", object("createdAt", "next_attempt_at")), "mapping"), want: "what a claim writes needs a column of its own"},
		{name: "column with NUL", change: spec(object("key", "a\x00b"), "mapping", "columns"), want: "without NUL"},
		{name: "status with NUL", change: spec(object("sent", "a\x00b"), "mapping", "statuses"), want: "without NUL"},
		{name: "delete of many bytes", change: spec(object("policy", "Delete", "statuses", []any{bytes}), "retention"), want: "write at most 63 bytes"},
		{name: "template of many bytes", change: spec(object("template", "a.{"+bytes+"}"), "topicFrom"), want: "write columns of at most 63 bytes"},
		{name: "delete what is renamed", change: both(spec(object("failed", "DEAD"), "mapping", "statuses"), spec(object("policy", "Delete", "statuses", []any{"SENT", "DEAD"}), "retention")), want: "must name only what is done"},
		{name: "delete what is pending", change: both(spec("Token", "mapping", "preset"), spec(object("policy", "Delete", "statuses", []any{"PENDING"}), "retention")), want: "must name only what is done"},
		{name: "delete what is claimed", change: spec(object("policy", "Delete", "statuses", []any{"INPROGRESS"}), "retention"), want: "must name only what is done"},
		{name: "delete nothing", change: spec(object("policy", "Delete", "statuses", []any{}), "retention"), want: "should have at least 1 items"},
		{name: "delete a status twice", change: spec(object("policy", "Delete", "statuses", []any{"SENT", "SENT"}), "retention"), want: "Duplicate value"},
		{name: "delete an empty status", change: spec(object("policy", "Delete", "statuses", []any{""}), "retention"), want: "should be at least 1 chars long"},
		{name: "delete without asking", change: spec(object("policy", "Keep", "statuses", []any{"SENT"}), "retention"), want: "only for policy Delete"},
		{name: "retention unknown", change: spec("Archive", "retention", "policy"), want: `supported values: "Keep", "Delete"`},
		{name: "onFailed unknown", change: spec(object("mode", "Key", "onFailed", "Drop"), "ordering"), want: `supported values: "Halt", "Skip"`},
		{name: "wake-up unknown", change: spec(object("mode", "Stream", "channel", "c"), "wakeUp"), want: `supported values: "Poll", "Notify"`},
		{name: "priority by number", change: spec(int64(1), "priority", "enabled"), want: "must be of type boolean"},
		{name: "certificate key is a path", change: spec(object("secretRef", object("name", "c", "certificateKey", "..")), "kafka", "tls", "clientCertificateFrom"), want: "write a key of the Secret's data"},
		{name: "certificate elsewhere", change: spec(object("secretRef", object("name", "a/b")), "kafka", "tls", "clientCertificateFrom"), want: "write the name of a Secret in this namespace"},
		{name: "certificate of nothing", change: spec(object(), "kafka", "tls", "clientCertificateFrom"), want: "secretRef: Required value"},
		{name: "no mechanism", change: spec(object("username", "u", "passwordFrom", password), "kafka", "authentication"), want: "type: Required value"},
		{name: "token without an address", change: both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("clientID", "c", "clientSecretFrom", password)), "kafka", "authentication")), want: "tokenEndpoint: Required value"},
		{name: "token without a client", change: both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "https://a/t", "clientSecretFrom", password)), "kafka", "authentication")), want: "clientID: Required value"},
		{name: "token without a secret", change: both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "https://a/t", "clientID", "c")), "kafka", "authentication")), want: "clientSecretFrom: Required value"},
		{name: "token of a bad port", change: both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "https://a:b/t", "clientID", "c", "clientSecretFrom", password)), "kafka", "authentication")), want: "write an https address"},
		{name: "token with a fragment", change: both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "https://a/t#b", "clientID", "c", "clientSecretFrom", password)), "kafka", "authentication")), want: "write an https address"},
		{name: "template of nested columns", change: spec(object("template", "a.{b{c}}"), "topicFrom"), want: "at least one column in braces"},
		{name: "template of no name", change: spec(object("template", "a.{}"), "topicFrom"), want: "at least one column in braces"},
		{name: "preset without its topic", change: both(spec(nil, "topic"), spec("Debezium", "mapping", "preset"), spec(object("column", "c"), "topicFrom")), want: "write topic: it is where events go"},
		{name: "order of a random id", change: both(spec(object("mode", "Key"), "ordering"), spec(object("preset", "Debezium", "columns", object("sequence", "")), "mapping")), want: "map mapping.columns.sequence"},
		{name: "order of no sequence", change: both(spec(object("mode", "Key"), "ordering"), spec(object("preset", "Token", "columns", object("sequence", "")), "mapping")), want: "map mapping.columns.sequence"},
		{name: "manual without a relay", change: both(spec(int64(0), "replicas"), spec("Manual", "scaling", "mode")), want: "write replicas 1 or more, or suspend: true"},
		{name: "negative size", change: spec(int64(-1), "replicas"), want: "greater than or equal to 0"},
		{name: "size over the bound", change: spec(int64(101), "replicas"), want: "less than or equal to 100"},
		{name: "mode of scaling unknown", change: spec("External", "scaling", "mode"), want: `supported values: "Auto", "Manual"`},
		{name: "fewer connections than a relay", change: spec(int64(9), "scaling", "maxDatabaseConnections"), want: "greater than or equal to 10"},
		{name: "catch-up at once", change: spec(int64(0), "scaling", "catchUpSeconds"), want: "greater than or equal to 10"},
		{name: "busier than busy", change: spec(int64(101), "scaling", "utilizationPercent"), want: "less than or equal to 100"},
		{name: "ineffective unknown", change: spec("Panic", "scaling", "onIneffectiveScaleUp"), want: `supported values: "Revert", "Hold", "Ignore"`},
		{name: "suspend in words", change: spec("yes", "suspend"), want: "must be of type boolean"},
		{name: "limit of no rows", change: spec(int64(0), "backlog", "limitRows"), want: "greater than or equal to 1"},
		{name: "limit of no table", change: spec(int64(8192), "backlog", "limitBytes"), want: "greater than or equal to 1048576"},
		{name: "limit as a quantity", change: spec("10Gi", "backlog", "limitBytes"), want: "must be of type integer"},
		{name: "label of two slashes", change: spec(object("a/b/c", "d"), "pod", "labels"), want: "write labels as name or prefix/name"},
		{name: "label of the operator", change: spec(object("app.kubernetes.io/name", "d"), "pod", "labels"), want: "are what the relays are found by: choose other names"},
		{name: "label's value with a space", change: spec(object("team", "a b"), "pod", "labels"), want: "write the value of a label"},
		{name: "annotation of a space", change: spec(object("a b", "d"), "pod", "annotations"), want: "write annotations as name or prefix/name"},
		{name: "annotation of the operator", change: spec(object("outbox.relayfleet.io/intent", "d"), "pod", "annotations"), want: "annotations of relayfleet.io/ are the operator's own"},
		{name: "env that redirects", change: spec([]any{object("name", "HTTPS_PROXY", "value", "http://a")}, "pod", "env"), want: `supported values: "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "TZ"`},
		{name: "env of libpq", change: spec([]any{object("name", "PGHOST", "value", "a")}, "pod", "env"), want: "supported values"},
		{name: "env from elsewhere", change: spec([]any{object("name", "TZ", "valueFrom", object("secretKeyRef", object("name", "a", "key", "b")))}, "pod", "env"), want: `unknown field "spec.pod.env[0].valueFrom"`},
		{name: "env twice", change: spec([]any{object("name", "TZ", "value", "UTC"), object("name", "TZ", "value", "CET")}, "pod", "env"), want: "Duplicate value"},
		{name: "pull secret elsewhere", change: spec([]any{object("name", "other/secret")}, "pod", "imagePullSecrets"), want: "write the name of an object in this namespace"},
		{name: "another service account", change: spec("admin", "pod", "serviceAccountName"), want: `unknown field "spec.pod.serviceAccountName"`},
		{name: "a volume", change: spec([]any{object("name", "host", "hostPath", object("path", "/"))}, "pod", "volumes"), want: `unknown field "spec.pod.volumes"`},
		{name: "priority class of a space", change: spec("very high", "pod", "scheduling", "priorityClassName"), want: "write the name of a PriorityClass"},
		{name: "node's label with a space", change: spec(object("disk", "a b"), "pod", "scheduling", "nodeSelector"), want: "write the value of a label"},
		{name: "toleration of nothing", change: tolerations(object("effect", "NoSchedule")), want: "write a key, or operator Exists"},
		{name: "toleration that exists with a value", change: tolerations(object("key", "a", "operator", "Exists", "value", "b")), want: "operator Exists takes no value"},
		{name: "toleration for a time", change: tolerations(object("key", "a", "effect", "NoSchedule", "tolerationSeconds", int64(5))), want: "tolerationSeconds is only for effect NoExecute"},
		{name: "toleration of a space", change: tolerations(object("key", "a b")), want: "write a key as name or prefix/name"},
		{name: "toleration's value of a space", change: tolerations(object("key", "a", "value", "b c")), want: "write the value of a label"},
		{name: "effect unknown", change: tolerations(object("key", "a", "effect", "Evict")), want: `supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`},
		{name: "monitor unknown", change: spec("Always", "podMonitor", "mode"), want: `supported values: "None", "Create"`},
		{name: "monitor that is none", change: spec(object("intervalSeconds", int64(15)), "podMonitor"), want: "intervalSeconds and labels are only for mode Create"},
		{name: "monitor all the time", change: spec(object("mode", "Create", "intervalSeconds", int64(1)), "podMonitor"), want: "greater than or equal to 5"},
		{name: "monitor's label of a space", change: spec(object("mode", "Create", "labels", object("a b", "c")), "podMonitor"), want: "write labels as name or prefix/name"},
		{name: "monitor's label of the operator", change: spec(object("mode", "Create", "labels", object("app.kubernetes.io/name", "c")), "podMonitor"), want: "are the operator's own: choose other names"},
		{name: "policy that is none", change: spec(object("metricsNamespace", "m"), "networkPolicy"), want: "metricsNamespace is only for mode Create"},
		{name: "policy of upper case", change: spec(object("mode", "Create", "metricsNamespace", "Monitoring"), "networkPolicy"), want: "write the name of a namespace"},
	}
}
