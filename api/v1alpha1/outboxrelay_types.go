package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OutboxRelay is a fleet of relays that publish the rows of one PostgreSQL
// outbox table to Kafka.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=obr,categories=relayfleet
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Relays",type=integer,JSONPath=`.status.readyReplicas`,description="relays that are ready"
// +kubebuilder:printcolumn:name="Lag",type=integer,JSONPath=`.status.backlog.oldestEligibleAgeSeconds`,description="seconds that the oldest row has been due for"
// +kubebuilder:printcolumn:name="Target",type=integer,JSONPath=`.status.scaling.effective.targetBacklogAgeSeconds`,description="the lag in seconds above which the fleet grows"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.status.scaling.desiredReplicas`,priority=1
// +kubebuilder:printcolumn:name="Min",type=integer,JSONPath=`.status.scaling.effective.minReplicas`,priority=1
// +kubebuilder:printcolumn:name="Max",type=integer,JSONPath=`.status.scaling.effective.maxReplicas`,priority=1
// +kubebuilder:printcolumn:name="Limited-By",type=string,JSONPath=`.status.scaling.limitedBy`,priority=1
// +kubebuilder:printcolumn:name="Decision",type=string,JSONPath=`.status.scaling.reason`,priority=1
// +kubebuilder:printcolumn:name="Last-Scale",type=date,JSONPath=`.status.scaling.lastScaleTime`,priority=1
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.backlog.failed`,priority=1
// +kubebuilder:printcolumn:name="Topic",type=string,JSONPath=`.spec.topic`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 50 && !self.metadata.name.contains('.')",message="metadata.name: use at most 50 characters and '-' in place of '.', because pods and labels are named after it"
type OutboxRelay struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata. The name is at most 50
	// characters long and has no dot.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user wants. The operator never writes it.
	// +required
	Spec OutboxRelaySpec `json:"spec,omitzero"`

	// status is what the operator knows.
	// +kubebuilder:default={"observedGeneration":-1}
	// +optional
	Status OutboxRelayStatus `json:"status,omitzero"`
}

// OutboxRelayList is a list of OutboxRelays.
//
// +kubebuilder:object:root=true
type OutboxRelayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []OutboxRelay `json:"items"`
}

// OutboxRelaySpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule="has(self.table) != has(self.tableRef)",message="write exactly one of table (\"schema.table\" in lower case) and tableRef (schema and name as PostgreSQL has them)"
// +kubebuilder:validation:XValidation:rule="has(self.topic) || (has(self.topicFrom) && has(self.topicFrom.template)) || (has(self.mapping) && has(self.mapping.preset) && self.mapping.preset == 'Debezium' && !has(self.topicFrom))",message="write topic: it is where events go that name no topic of their own (only topicFrom.template, or preset Debezium, can do without)"
// +kubebuilder:validation:XValidation:rule="!has(self.maxClaimSeconds) || self.maxClaimSeconds >= (has(self.leaseDurationSeconds) ? self.leaseDurationSeconds : 30)",message="maxClaimSeconds must not be less than leaseDurationSeconds (30 when unset)"
// +kubebuilder:validation:XValidation:rule="!(has(self.ordering) && has(self.ordering.mode) && self.ordering.mode == 'Key' && has(self.priority) && has(self.priority.enabled) && self.priority.enabled)",message="priority contradicts ordering mode Key, because an urgent event would overtake earlier ones of its key: write one of them"
// +kubebuilder:validation:XValidation:rule="self.?ordering.?mode.orValue('None') != 'Key' || !(self.?mapping.?preset.orValue('Relayfleet') in ['Token', 'Debezium']) || (self.?mapping.?columns.?sequence.hasValue() ? size(self.mapping.columns.sequence) > 0 : self.mapping.preset == 'Debezium')",message="ordering mode Key needs a number that rises with every insert: map mapping.columns.sequence"
// +kubebuilder:validation:XValidation:rule="self.?ordering.?mode.orValue('None') != 'Key' || !self.?mapping.?columns.?key.hasValue() || size(self.mapping.columns.key) > 0",message="ordering mode Key needs a key: map mapping.columns.key"
// +kubebuilder:validation:XValidation:rule="!self.?priority.?enabled.orValue(false) || (self.?mapping.?columns.?priority.hasValue() ? size(self.mapping.columns.priority) > 0 : self.?mapping.?preset.orValue('Relayfleet') in ['Relayfleet', 'StatusCodes'])",message="priority needs a column: map mapping.columns.priority"
// +kubebuilder:validation:XValidation:rule="!(has(self.wakeUp) && has(self.wakeUp.mode) && self.wakeUp.mode == 'Notify' && has(self.database.pooling) && self.database.pooling == 'Transaction')",message="wakeUp mode Notify contradicts database.pooling Transaction: such a pooler passes no notifications on; write mode Poll"
// +kubebuilder:validation:XValidation:rule="!(has(self.retention) && has(self.retention.policy) && self.retention.policy == 'Delete' && has(self.mapping) && has(self.mapping.preset) && self.mapping.preset == 'StatusCodes') || has(self.retention.statuses)",message="write retention.statuses: with preset StatusCodes what is SENT (2) is not consumed yet; [\"4\"] deletes what is"
// +kubebuilder:validation:XValidation:rule="!has(self.retention) || !has(self.retention.statuses) || [self.?mapping.?preset.orValue('Relayfleet')].all(preset, [self.?mapping.?statuses.?ready.orValue({'StatusCodes': '0', 'Token': 'PENDING'}[?preset].orValue('READY')), self.?mapping.?statuses.?inProgress.orValue({'StatusCodes': '1', 'Token': \"\"}[?preset].orValue('INPROGRESS')), self.?mapping.?statuses.?failed.orValue({'StatusCodes': '3', 'Lab': \"\"}[?preset].orValue('FAILED'))].all(value, !(value in self.retention.statuses)))",message="retention.statuses must name only what is done: rows that wait, are claimed or have FAILED are never deleted; leave out the ready, inProgress and failed status of the mapping"
// +kubebuilder:validation:XValidation:rule="self.?scaling.?mode.orValue('Auto') != 'Manual' || !has(self.replicas) || self.replicas >= 1",message="a fleet has at least one relay: write replicas 1 or more, or suspend: true to have none"
type OutboxRelaySpec struct {
	// table is the outbox: "schema.table", or "table" in schema public. Lower
	// case; a name with other characters goes into tableRef. A change rolls
	// the relays.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=127
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z_][a-z0-9_]{0,62}[.])?[a-z_][a-z0-9_]{0,62}$')",message="write schema.table or table in lower case letters, digits and '_', each at most 63 long; any other name goes into tableRef"
	// +optional
	Table string `json:"table,omitempty"`

	// tableRef is the outbox by its verbatim names, upper case and special
	// characters included.
	// +optional
	TableRef *TableReference `json:"tableRef,omitempty"`

	// topic is where events go whose row names no topic of its own. It may be
	// left out only where topicFrom.template or the preset names one for every
	// row. A change rolls the relays.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9._-]+$') && self != '.' && self != '..'",message="write a Kafka topic name: letters, digits, '.', '_' and '-', and not just dots"
	// +optional
	Topic string `json:"topic,omitempty"`

	// topicFrom is where a row's own topic is. Unset: the mapping's column. A
	// change rolls the relays.
	// +optional
	TopicFrom *TopicFrom `json:"topicFrom,omitempty"`

	// leaseDurationSeconds is how long a claim holds: a row whose relay died is
	// published by another one after it. Unset: 30. A change rolls the relays.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=3600
	// +optional
	LeaseDurationSeconds int32 `json:"leaseDurationSeconds,omitempty"`

	// batchSize is how many rows a claim takes at most. Unset: 500. A change
	// rolls the relays.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	BatchSize int32 `json:"batchSize,omitempty"`

	// maxClaimSeconds is how long a claim is renewed at most while its sends go
	// on; then they are cut and the claim runs out. Unset: four leases. A change
	// rolls the relays.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=7200
	// +optional
	MaxClaimSeconds int32 `json:"maxClaimSeconds,omitempty"`

	// maxBytesInFlight bounds the payloads that a relay holds, in bytes; a row
	// that is larger by itself is held alone. A relay needs about three times as
	// much memory and 64 MiB beside it: the default limit does up to 134217728.
	// Unset: 33554432. A change rolls the relays.
	// +kubebuilder:validation:Minimum=1048576
	// +kubebuilder:validation:Maximum=1073741824
	// +optional
	MaxBytesInFlight int64 `json:"maxBytesInFlight,omitempty"`

	// database says how to reach the outbox.
	// +required
	Database Database `json:"database,omitzero"`

	// kafka says how to reach the broker.
	// +required
	Kafka Kafka `json:"kafka,omitzero"`

	// mapping says which columns and values of the table mean what. Unset: preset
	// Relayfleet.
	// +optional
	Mapping Mapping `json:"mapping,omitzero"`

	// ordering says in which order events are published. Unset: any.
	// +optional
	Ordering Ordering `json:"ordering,omitzero"`

	// priority lets events with a higher priority go first. Unset: they do not.
	// +optional
	Priority Priority `json:"priority,omitzero"`

	// retention says what becomes of published rows. Unset: they stay.
	// +optional
	Retention Retention `json:"retention,omitzero"`

	// wakeUp says how relays learn of new rows. Unset: by asking.
	// +optional
	WakeUp WakeUp `json:"wakeUp,omitzero"`

	// retry says what happens to an event that the broker refuses. Unset: the
	// defaults of its fields.
	// +optional
	Retry Retry `json:"retry,omitzero"`

	// scaling says how the size of the fleet follows the backlog. Unset: the
	// defaults of its fields.
	// +optional
	Scaling Scaling `json:"scaling,omitzero"`

	// replicas is the size of the fleet in scaling mode Manual; kubectl scale and
	// a HorizontalPodAutoscaler write it. Unset: the fleet stays as large as it is.
	// In mode Auto it means nothing, and the status says so.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// suspend says that no relay shall run. What is claimed is given back; nothing
	// is published until it is false again. Unset: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// backlog says when the backlog is too large for the user. It is a condition
	// and never changes the size of the fleet. Unset: never.
	// +optional
	Backlog BacklogLimits `json:"backlog,omitzero"`

	// podMonitor lets the Prometheus operator find the relays' metrics. Unset: it
	// does not.
	// +optional
	PodMonitor PodMonitor `json:"podMonitor,omitzero"`

	// networkPolicy says who may connect to the relays. Unset: whoever the
	// cluster lets.
	// +optional
	NetworkPolicy NetworkPolicy `json:"networkPolicy,omitzero"`

	// image pins the relays' image. Unset: the operator's own, which then
	// follows every upgrade of the operator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^ \\t\\n]+$')",message="write an image reference without spaces, such as registry.example.com/relayfleet:v1"
	// +optional
	Image string `json:"image,omitempty"`

	// pod overrides parts of the relays' pods.
	// +optional
	Pod PodOverrides `json:"pod,omitzero"`
}

// TableReference names a table verbatim, as PostgreSQL's catalogue has it.
type TableReference struct {
	// schema is the table's schema.
	// +kubebuilder:validation:MinLength=1
	// +required
	Schema Name `json:"schema,omitempty"`

	// name is the table's name in its schema.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name Name `json:"name,omitempty"`
}

// Database says how to reach the outbox.
type Database struct {
	// uriFrom is where the relays find a PostgreSQL connection URI with user
	// and password. It is re-read when it changes, without a restart.
	// +required
	URIFrom SecretSource `json:"uriFrom,omitzero"`

	// tls says what the server must prove. Unset: VerifyFull with the trusted
	// certificates of the image.
	// +optional
	TLS DatabaseTLS `json:"tls,omitzero"`

	// pooling is Session, or Transaction where a pooler stands in between that
	// gives each transaction any session. Unset: Session. A change rolls the
	// relays.
	// +optional
	Pooling Pooling `json:"pooling,omitempty"`
}

// TLSMode says how much the server must prove, in PostgreSQL's words.
//
// +kubebuilder:validation:Enum=VerifyFull;VerifyCA;Require;Disable
type TLSMode string

const (
	// TLSVerifyFull: encrypted, certificate and host name are checked.
	TLSVerifyFull TLSMode = "VerifyFull"
	// TLSVerifyCA: encrypted, the certificate is checked, the host name is not.
	TLSVerifyCA TLSMode = "VerifyCA"
	// TLSRequire: encrypted, nothing is checked.
	TLSRequire TLSMode = "Require"
	// TLSDisable: not encrypted.
	TLSDisable TLSMode = "Disable"
)

// DatabaseTLS says what the server must prove.
//
// +kubebuilder:validation:XValidation:rule="!has(self.caFrom) || !has(self.mode) || self.mode in ['VerifyFull', 'VerifyCA']",message="caFrom is not used with mode Require or Disable: write mode VerifyFull or VerifyCA, or leave caFrom out"
// +kubebuilder:validation:XValidation:rule="!has(self.clientCertificateFrom) || !has(self.mode) || self.mode != 'Disable'",message="clientCertificateFrom is not used with mode Disable: write another mode, or leave it out"
type DatabaseTLS struct {
	// mode is VerifyFull (certificate and host name), VerifyCA (certificate
	// only), Require (encrypted, nothing checked) or Disable (not encrypted).
	// The URI may ask for more, not for less. Unset: VerifyFull. A change rolls
	// the relays.
	// +optional
	Mode TLSMode `json:"mode,omitempty"`

	// caFrom is where the relays find the PEM certificates to trust. Unset:
	// those of the image.
	// +optional
	CAFrom *CertificateSource `json:"caFrom,omitempty"`

	// clientCertificateFrom is what the relays show the server. Unset: nothing.
	// +optional
	ClientCertificateFrom *ClientCertificateSource `json:"clientCertificateFrom,omitempty"`
}

// SecretSource is a value in a Secret of the same namespace.
type SecretSource struct {
	// secretKeyRef names the Secret and the key in it.
	// +required
	SecretKeyRef KeyReference `json:"secretKeyRef,omitzero"`
}

// CertificateSource is a value in a Secret or a ConfigMap of the same namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretKeyRef) != has(self.configMapKeyRef)",message="write exactly one of secretKeyRef and configMapKeyRef"
type CertificateSource struct {
	// secretKeyRef names a Secret and the key in it.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`

	// configMapKeyRef names a ConfigMap and the key in it.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
}

// KeyReference names a key in an object of the same namespace. The object may
// be missing: the relays start, say so, and go on when it appears.
type KeyReference struct {
	// name is the object's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="write the name of an object in this namespace: lower case letters, digits, '-' and '.'"
	// +required
	Name string `json:"name,omitempty"`

	// key is the key in the object's data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$') && !self.startsWith('..') && self != '.'",message="write a key of the object's data: letters, digits, '-', '_' and '.', not starting with two dots"
	// +required
	Key string `json:"key,omitempty"`
}

// Kafka says how to reach the broker.
//
// +kubebuilder:validation:XValidation:rule="!has(self.authentication) || has(self.tls) || self.authentication.type in ['SCRAM-SHA-256', 'SCRAM-SHA-512']",message="PLAIN and OAUTHBEARER would send their secret readable for everybody on the way: write tls too ({} is enough where the image trusts the brokers)"
type Kafka struct {
	// bootstrapServers are brokers as host:port, any of which lists all others.
	// A change rolls the relays.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^([a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?|[[][0-9a-fA-F:.]+[]]):([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$')",message="write host:port, such as kafka:9092, without a scheme; IPv6 in brackets"
	// +listType=atomic
	// +required
	BootstrapServers []string `json:"bootstrapServers,omitempty"`

	// tls is what the brokers must prove; {} is VerifyFull with the trusted
	// certificates of the image. Unset: not encrypted.
	// +optional
	TLS *KafkaTLS `json:"tls,omitempty"`

	// authentication is how the relays log in. Unset: not at all.
	// +optional
	Authentication *KafkaAuthentication `json:"authentication,omitempty"`

	// compression is how batches are compressed. Unset: LZ4. A change rolls the
	// relays.
	// +kubebuilder:validation:Enum=LZ4;Zstd;None
	// +optional
	Compression string `json:"compression,omitempty"`
}

// Retry says what happens to an event that the broker refuses. An outage of
// broker or database is no refusal and uses nothing up.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxBackoffSeconds) || self.maxBackoffSeconds >= (has(self.backoffSeconds) ? self.backoffSeconds : 5)",message="maxBackoffSeconds must not be less than backoffSeconds (5 when unset)"
type Retry struct {
	// maxAttempts is how often an event is tried before it may be FAILED.
	// Unset: 10. A change rolls the relays.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxAttempts int32 `json:"maxAttempts,omitempty"`

	// backoffSeconds is the wait after the first refusal; it doubles. Unset: 5.
	// A change rolls the relays.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	BackoffSeconds int32 `json:"backoffSeconds,omitempty"`

	// maxBackoffSeconds is where doubling ends. Unset: 300, or backoffSeconds
	// if that is more. A change rolls the relays.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	MaxBackoffSeconds int32 `json:"maxBackoffSeconds,omitempty"`

	// maxAgeSeconds is how old an event must also be to be FAILED. 0: attempts
	// alone decide. Unset: 86400. A change rolls the relays.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	// +optional
	MaxAgeSeconds *int32 `json:"maxAgeSeconds,omitempty"`
}
