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

// invalid is a change that makes an object invalid, and what the refusal says: what
// to write instead.
type invalid struct {
	change func(map[string]any)
	want   string
}

func invalidObjects(t *testing.T) map[string]invalid {
	t.Helper()
	long, bytes := strings.Repeat("a", 64), strings.Repeat("\u00e9", 32)
	set := func(value any, path ...string) func(map[string]any) {
		return func(o map[string]any) {
			if value == nil {
				unstructured.RemoveNestedField(o, path...)
				return
			}
			require.NoError(t, unstructured.SetNestedField(o, value, path...))
		}
	}
	both := func(changes ...func(map[string]any)) func(map[string]any) {
		return func(o map[string]any) {
			for _, change := range changes {
				change(o)
			}
		}
	}
	spec := func(value any, path ...string) func(map[string]any) {
		return set(value, append([]string{"spec"}, path...)...)
	}
	uri := []string{"database", "uriFrom", "secretKeyRef"}
	password := object("secretKeyRef", object("name", "orders", "key", "password"))
	oauth := object("tokenEndpoint", "https://login.example.com/t", "clientID", "c", "clientSecretFrom", password)
	return map[string]invalid{
		"name too long":     {set(strings.Repeat("a", 51), "metadata", "name"), "use at most 50 characters"},
		"name with a dot":   {set("a.b", "metadata", "name"), "'-' in place of '.'"},
		"no table":          {spec(nil, "table"), "write exactly one of table"},
		"table twice":       {spec(map[string]any{"schema": "a", "name": "b"}, "tableRef"), "write exactly one of table"},
		"upper case table":  {spec("public.Outbox", "table"), "any other name goes into tableRef"},
		"table of 3 parts":  {spec("a.b.c", "table"), "write schema.table or table"},
		"table name long":   {spec(long, "table"), "each at most 63 long"},
		"table injection":   {spec("outbox; drop table x", "table"), "write schema.table or table"},
		"tableRef no name":  {both(spec(nil, "table"), spec(map[string]any{"schema": "a"}, "tableRef")), "spec.tableRef.name: Required value"},
		"tableRef too long": {both(spec(nil, "table"), spec(map[string]any{"schema": "a", "name": long}, "tableRef")), "may not be more than 63"},
		"no topic":          {spec(nil, "topic"), "write topic: it is where events go"},
		"topic with space":  {spec("orders events", "topic"), "write a Kafka topic name"},
		"topic of dots":     {spec("..", "topic"), "write a Kafka topic name"},
		"topic too long":    {spec(strings.Repeat("a", 250), "topic"), "may not be more than 249"},
		"lease too short":   {spec(int64(4), "leaseDurationSeconds"), "greater than or equal to 5"},
		"lease too long":    {spec(int64(3601), "leaseDurationSeconds"), "less than or equal to 3600"},
		"no batch":          {spec(int64(0), "batchSize"), "greater than or equal to 1"},
		"batch too large":   {spec(int64(10001), "batchSize"), "less than or equal to 10000"},
		"batch as text":     {spec("many", "batchSize"), "must be of type integer"},
		"no database":       {spec(nil, "database"), "spec.database: Required value"},
		"no secret name":    {spec(nil, append(uri, "name")...), "secretKeyRef.name: Required value"},
		"no secret key":     {spec(nil, append(uri, "key")...), "secretKeyRef.key: Required value"},
		"secret elsewhere":  {spec("other/secret", append(uri, "name")...), "write the name of an object in this namespace"},
		"key is a path":     {spec("../uri", append(uri, "key")...), "write a key of the object's data"},
		"key of dots":       {spec("..uri", append(uri, "key")...), "not starting with two dots"},
		"tls mode of libpq": {spec("verify-full", "database", "tls", "mode"), `supported values: "VerifyFull", "VerifyCA", "Require", "Disable"`},
		"ca without check": {
			both(spec("Require", "database", "tls", "mode"),
				spec(map[string]any{"secretKeyRef": map[string]any{"name": "ca", "key": "ca.crt"}}, "database", "tls", "caFrom")),
			"write mode VerifyFull or VerifyCA, or leave caFrom out",
		},
		"ca from nowhere": {spec(map[string]any{}, "database", "tls", "caFrom"), "write exactly one of secretKeyRef and configMapKeyRef"},
		"ca from both": {
			spec(map[string]any{
				"secretKeyRef":    map[string]any{"name": "ca", "key": "ca.crt"},
				"configMapKeyRef": map[string]any{"name": "ca", "key": "ca.crt"},
			}, "database", "tls", "caFrom"), "write exactly one of secretKeyRef and configMapKeyRef",
		},
		"no broker":                  {spec(nil, "kafka"), "spec.kafka: Required value"},
		"empty broker list":          {spec([]any{}, "kafka", "bootstrapServers"), "should have at least 1 items"},
		"broker without port":        {spec([]any{"kafka"}, "kafka", "bootstrapServers"), "write host:port, such as kafka:9092"},
		"broker with scheme":         {spec([]any{"kafka://kafka:9092"}, "kafka", "bootstrapServers"), "without a scheme"},
		"broker port too high":       {spec([]any{"kafka:65536"}, "kafka", "bootstrapServers"), "write host:port"},
		"brokers in one string":      {spec([]any{"a:9092,b:9092"}, "kafka", "bootstrapServers"), "write host:port"},
		"no attempts":                {spec(int64(0), "retry", "maxAttempts"), "greater than or equal to 1"},
		"back-off falls":             {spec(map[string]any{"backoffSeconds": int64(10), "maxBackoffSeconds": int64(9)}, "retry"), "must not be less than backoffSeconds"},
		"back-off under default":     {spec(int64(4), "retry", "maxBackoffSeconds"), "backoffSeconds (5 when unset)"},
		"negative age":               {spec(int64(-1), "retry", "maxAgeSeconds"), "greater than or equal to 0"},
		"no relays":                  {spec(int64(0), "scaling", "minReplicas"), "greater than or equal to 1"},
		"too many relays":            {spec(int64(101), "scaling", "maxReplicas"), "less than or equal to 100"},
		"minimum over maximum":       {spec(map[string]any{"minReplicas": int64(3), "maxReplicas": int64(2)}, "scaling"), "maxReplicas (10 when unset) must not be less"},
		"minimum over default":       {spec(int64(11), "scaling", "minReplicas"), "maxReplicas (10 when unset) must not be less"},
		"no target":                  {spec(int64(0), "scaling", "targetBacklogAgeSeconds"), "greater than or equal to 1"},
		"down window too short":      {spec(int64(9), "scaling", "scaleDownWindowSeconds"), "greater than or equal to 10"},
		"up window too long":         {spec(int64(3601), "scaling", "scaleUpWindowSeconds"), "less than or equal to 3600"},
		"negative cooldown":          {spec(int64(-1), "scaling", "cooldownSeconds"), "greater than or equal to 0"},
		"image with a space":         {spec("a b", "image"), "write an image reference without spaces"},
		"quantity that is none":      {spec("lots", "pod", "resources", "limits", "memory"), "spec.pod.resources.limits.memory"},
		"field that is not there":    {spec(int64(3), "replicas"), `unknown field "spec.replicas"`},
		"topic column alone":         {both(spec(nil, "topic"), spec(object("column", "topic"), "topicFrom")), "write topic: it is where events go"},
		"topic of two kinds":         {spec(object("column", "a", "template", "a.{b}"), "topicFrom"), "write exactly one of column and template"},
		"topic of nothing":           {spec(object(), "topicFrom"), "write exactly one of column and template"},
		"template without column":    {spec(object("template", "events"), "topicFrom"), "at least one column in braces"},
		"template not closed":        {spec(object("template", "a.{b"), "topicFrom"), "at least one column in braces"},
		"template with a space":      {spec(object("template", "a {b}"), "topicFrom"), "at least one column in braces"},
		"claim shorter than lease":   {both(spec(int64(60), "leaseDurationSeconds"), spec(int64(59), "maxClaimSeconds")), "maxClaimSeconds must not be less"},
		"claim shorter than unset":   {spec(int64(29), "maxClaimSeconds"), "leaseDurationSeconds (30 when unset)"},
		"claim for days":             {spec(int64(7201), "maxClaimSeconds"), "less than or equal to 7200"},
		"hardly any memory":          {spec(int64(1000), "maxBytesInFlight"), "greater than or equal to 1048576"},
		"too much memory":            {spec(int64(1<<30+1), "maxBytesInFlight"), "less than or equal to 1073741824"},
		"pooler by name":             {spec("PgBouncer", "database", "pooling"), `supported values: "Session", "Transaction"`},
		"client certificate unused":  {both(spec("Disable", "database", "tls", "mode"), spec(object("secretRef", object("name", "c")), "database", "tls", "clientCertificateFrom")), "clientCertificateFrom is not used with mode Disable"},
		"client certificate no name": {spec(object("secretRef", object("certificateKey", "a")), "database", "tls", "clientCertificateFrom"), "secretRef.name: Required value"},
		"client key is a path":       {spec(object("secretRef", object("name", "c", "privateKeyKey", "../k")), "kafka", "tls", "clientCertificateFrom"), "write a key of the Secret's data"},
		"kafka tls disabled":         {spec(object("mode", "Disable"), "kafka", "tls"), `supported values: "VerifyFull", "VerifyCA", "Require"`},
		"kafka ca without check":     {spec(object("mode", "Require", "caFrom", object("secretKeyRef", object("name", "ca", "key", "ca.crt"))), "kafka", "tls"), "caFrom is not used with mode Require"},
		"mechanism unknown":          {spec(object("type", "GSSAPI"), "kafka", "authentication"), `supported values: "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"`},
		"password in plain text":     {spec(object("type", "PLAIN", "username", "u", "passwordFrom", password), "kafka", "authentication"), "write tls too"},
		"scram without user":         {spec(object("type", "SCRAM-SHA-512", "passwordFrom", password), "kafka", "authentication"), "write exactly one of username and usernameFrom"},
		"scram with two users":       {spec(object("type", "SCRAM-SHA-512", "username", "u", "usernameFrom", password, "passwordFrom", password), "kafka", "authentication"), "write exactly one of username and usernameFrom"},
		"scram without password":     {spec(object("type", "SCRAM-SHA-512", "username", "u"), "kafka", "authentication"), "write passwordFrom"},
		"scram with oauth":           {spec(object("type", "SCRAM-SHA-512", "username", "u", "passwordFrom", password, "oauth", oauth), "kafka", "authentication"), "write oauth with type OAUTHBEARER"},
		"oauth without oauth":        {both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER"), "kafka", "authentication")), "write oauth with type OAUTHBEARER"},
		"oauth with a user":          {both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "username", "u", "oauth", oauth), "kafka", "authentication")), "write oauth alone"},
		"oauth without tls":          {spec(object("type", "OAUTHBEARER", "oauth", oauth), "kafka", "authentication"), "write tls too"},
		"token over plain http":      {both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "http://login.example.com/t", "clientID", "c", "clientSecretFrom", password)), "kafka", "authentication")), "write an https address"},
		"token with a user":          {both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "https://me:secret@login.example.com/t", "clientID", "c", "clientSecretFrom", password)), "kafka", "authentication")), "write an https address"},
		"compression unknown":        {spec("gzip", "kafka", "compression"), `supported values: "LZ4", "Zstd", "None"`},
		"preset unknown":             {spec("Oracle", "mapping", "preset"), `supported values: "Relayfleet", "Lab", "StatusCodes", "Token", "Debezium"`},
		"no id column":               {spec(object("id", ""), "mapping", "columns"), "mapping.columns.id in body should be at least 1 chars long"},
		"column too long":            {spec(object("key", long), "mapping", "columns"), "may not be more than 63"},
		"no fence":                   {spec(object("generation", "", "claimToken", ""), "mapping", "columns"), "map columns.generation or columns.claimToken"},
		"no ready status":            {spec(object("ready", ""), "mapping", "statuses"), "mapping.statuses.ready in body should be at least 1 chars long"},
		"column unknown":             {spec(object("topik", "t"), "mapping", "columns"), `unknown field "spec.mapping.columns.topik"`},
		"header twice":               {spec([]any{object("name", "a", "column", "b"), object("name", "a", "column", "c")}, "mapping", "headers"), "Duplicate value"},
		"header of nothing":          {spec([]any{object("name", "a")}, "mapping", "headers"), "column: Required value"},
		"order unknown":              {spec("Global", "ordering", "mode"), `supported values: "None", "Key"`},
		"onFailed without order":     {spec(object("onFailed", "Skip"), "ordering"), "onFailed is only for mode Key"},
		"order and priority":         {both(spec(object("mode", "Key"), "ordering"), spec(object("enabled", true), "priority")), "priority contradicts ordering mode Key"},
		"order without a key":        {both(spec(object("mode", "Key"), "ordering"), spec(object("key", ""), "mapping", "columns")), "ordering mode Key needs a key"},
		"priority of nothing":        {both(spec("Lab", "mapping", "preset"), spec(object("enabled", true), "priority")), "priority needs a column"},
		"order without a sequence":   {both(spec(object("mode", "Key"), "ordering"), spec("Token", "mapping", "preset")), "map mapping.columns.sequence"},
		"share without priority":     {spec(object("oldestPercent", int64(10)), "priority"), "oldestPercent is only for enabled: true"},
		"share of everything":        {spec(object("enabled", true, "oldestPercent", int64(51)), "priority"), "less than or equal to 50"},
		"window without delete":      {spec(object("sentSeconds", int64(3600)), "retention"), "only for policy Delete"},
		"window too short":           {spec(object("policy", "Delete", "sentSeconds", int64(59)), "retention"), "greater than or equal to 60"},
		"delete what failed":         {spec(object("policy", "Delete", "statuses", []any{"FAILED"}), "retention"), "must name only what is done"},
		"delete codes unconsumed":    {both(spec("StatusCodes", "mapping", "preset"), spec(object("policy", "Delete"), "retention")), "write retention.statuses"},
		"delete codes that wait":     {both(spec("StatusCodes", "mapping", "preset"), spec(object("policy", "Delete", "statuses", []any{"0"}), "retention")), "must name only what is done"},
		"notify without channel":     {spec(object("mode", "Notify"), "wakeUp"), "mode Notify and channel belong together"},
		"channel without notify":     {spec(object("channel", "c"), "wakeUp"), "mode Notify and channel belong together"},
		"notify through a pooler":    {both(spec("Transaction", "database", "pooling"), spec(object("mode", "Notify", "channel", "c"), "wakeUp")), "such a pooler passes no notifications on"},
		"names of many bytes":        {spec(object("schema", bytes, "name", "b"), "tableRef"), "write at most 63 bytes"},
		"topic column of bytes":      {spec(object("column", bytes), "topicFrom"), "write at most 63 bytes"},
		"column of many bytes":       {spec(object("lastError", bytes), "mapping", "columns"), "write at most 63 bytes"},
		"status of many bytes":       {spec(object("sent", bytes), "mapping", "statuses"), "write at most 63 bytes"},
		"header column of bytes":     {spec([]any{object("name", "a", "column", bytes)}, "mapping", "headers"), "write at most 63 bytes"},
		"channel of many bytes":      {spec(object("mode", "Notify", "channel", bytes), "wakeUp"), "write at most 63 bytes"},
		"no fence of the lab":        {spec(object("preset", "Lab", "columns", object("generation", "")), "mapping"), "map columns.generation or columns.claimToken"},
		"no fence of a token":        {spec(object("preset", "Token", "columns", object("claimToken", "")), "mapping"), "map columns.generation or columns.claimToken"},
		"claims not told":            {spec(object("preset", "Lab", "statuses", object("inProgress", "")), "mapping"), "map columns.claimToken where statuses.inProgress is empty"},
		"status of two states":       {spec(object("sent", "READY"), "mapping", "statuses"), "write four different statuses"},
		"code of two states":         {spec(object("preset", "StatusCodes", "statuses", object("failed", "2")), "mapping"), "write four different statuses"},
		"columns of one name":        {spec(object("attempts", "lease_until"), "mapping", "columns"), "what a claim writes needs a column of its own"},
		"id that a claim writes":     {spec(object("id", "status"), "mapping", "columns"), "what a claim writes needs a column of its own"},
		"order that a claim writes":  {spec(object("preset", "Lab", "columns", object("sequence", "generation")), "mapping"), "what a claim writes needs a column of its own"},
		"age that a claim writes":    {spec(object("preset", "Debezium", "columns", object("createdAt", "next_attempt_at")), "mapping"), "what a claim writes needs a column of its own"},
		"column with NUL":            {spec(object("key", "a\x00b"), "mapping", "columns"), "without NUL"},
		"status with NUL":            {spec(object("sent", "a\x00b"), "mapping", "statuses"), "without NUL"},
		"delete of many bytes":       {spec(object("policy", "Delete", "statuses", []any{bytes}), "retention"), "write at most 63 bytes"},
		"template of many bytes":     {spec(object("template", "a.{"+bytes+"}"), "topicFrom"), "write columns of at most 63 bytes"},
		"delete what is renamed":     {both(spec(object("failed", "DEAD"), "mapping", "statuses"), spec(object("policy", "Delete", "statuses", []any{"SENT", "DEAD"}), "retention")), "must name only what is done"},
		"delete what is pending":     {both(spec("Token", "mapping", "preset"), spec(object("policy", "Delete", "statuses", []any{"PENDING"}), "retention")), "must name only what is done"},
		"delete what is claimed":     {spec(object("policy", "Delete", "statuses", []any{"INPROGRESS"}), "retention"), "must name only what is done"},
		"delete nothing":             {spec(object("policy", "Delete", "statuses", []any{}), "retention"), "should have at least 1 items"},
		"delete a status twice":      {spec(object("policy", "Delete", "statuses", []any{"SENT", "SENT"}), "retention"), "Duplicate value"},
		"delete an empty status":     {spec(object("policy", "Delete", "statuses", []any{""}), "retention"), "should be at least 1 chars long"},
		"delete without asking":      {spec(object("policy", "Keep", "statuses", []any{"SENT"}), "retention"), "only for policy Delete"},
		"retention unknown":          {spec("Archive", "retention", "policy"), `supported values: "Keep", "Delete"`},
		"onFailed unknown":           {spec(object("mode", "Key", "onFailed", "Drop"), "ordering"), `supported values: "Halt", "Skip"`},
		"wake-up unknown":            {spec(object("mode", "Stream", "channel", "c"), "wakeUp"), `supported values: "Poll", "Notify"`},
		"priority by number":         {spec(int64(1), "priority", "enabled"), "must be of type boolean"},
		"certificate key is a path":  {spec(object("secretRef", object("name", "c", "certificateKey", "..")), "kafka", "tls", "clientCertificateFrom"), "write a key of the Secret's data"},
		"certificate elsewhere":      {spec(object("secretRef", object("name", "a/b")), "kafka", "tls", "clientCertificateFrom"), "write the name of a Secret in this namespace"},
		"certificate of nothing":     {spec(object(), "kafka", "tls", "clientCertificateFrom"), "secretRef: Required value"},
		"no mechanism":               {spec(object("username", "u", "passwordFrom", password), "kafka", "authentication"), "type: Required value"},
		"token without an address":   {both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("clientID", "c", "clientSecretFrom", password)), "kafka", "authentication")), "tokenEndpoint: Required value"},
		"token without a client":     {both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "https://a/t", "clientSecretFrom", password)), "kafka", "authentication")), "clientID: Required value"},
		"token without a secret":     {both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "https://a/t", "clientID", "c")), "kafka", "authentication")), "clientSecretFrom: Required value"},
		"token of a bad port":        {both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "https://a:b/t", "clientID", "c", "clientSecretFrom", password)), "kafka", "authentication")), "write an https address"},
		"token with a fragment":      {both(spec(object(), "kafka", "tls"), spec(object("type", "OAUTHBEARER", "oauth", object("tokenEndpoint", "https://a/t#b", "clientID", "c", "clientSecretFrom", password)), "kafka", "authentication")), "write an https address"},
		"template of nested columns": {spec(object("template", "a.{b{c}}"), "topicFrom"), "at least one column in braces"},
		"template of no name":        {spec(object("template", "a.{}"), "topicFrom"), "at least one column in braces"},
		"preset without its topic":   {both(spec(nil, "topic"), spec("Debezium", "mapping", "preset"), spec(object("column", "c"), "topicFrom")), "write topic: it is where events go"},
		"order of a random id":       {both(spec(object("mode", "Key"), "ordering"), spec(object("preset", "Debezium", "columns", object("sequence", "")), "mapping")), "map mapping.columns.sequence"},
		"order of no sequence":       {both(spec(object("mode", "Key"), "ordering"), spec(object("preset", "Token", "columns", object("sequence", "")), "mapping")), "map mapping.columns.sequence"},
	}
}

func TestInvalidObjectsAreRefusedWithWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range invalidObjects(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := unstructuredOf(t, w.outbox())
			tc.change(object.Object)
			err := admin.Create(t.Context(), object, client.FieldValidation(metav1.FieldValidationStrict))
			require.ErrorContains(t, err, tc.want)
		})
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
	for _, file := range sampleFiles(t) {
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
	data, err := os.ReadFile("../config/install/crd/outbox.relayfleet.io_outboxrelays.yaml")
	require.NoError(t, err)
	require.Less(t, len(data), 200<<10)
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
