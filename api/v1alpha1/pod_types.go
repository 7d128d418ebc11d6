package v1alpha1

import corev1 "k8s.io/api/core/v1"

// PodOverrides overrides parts of the relays' pods. There is no template: a
// relay's pod is the operator's own, and mounts what the spec names.
type PodOverrides struct {
	// resources are the relay container's. What is unset has the operator's
	// default: requests of 100m CPU and 128Mi memory, a limit of 512Mi memory.
	// A change rolls the relays.
	// +optional
	Resources Resources `json:"resources,omitzero"`

	// labels are added to the pods. Those of Kubernetes and of the operator are
	// not for writing. A change rolls the relays.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^([a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="write labels as name or prefix/name: letters, digits, '-', '_' and '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('app.kubernetes.io/') && !k.contains('relayfleet.io/') && k != 'pod-template-hash')",message="labels of app.kubernetes.io/, relayfleet.io/ and pod-template-hash are what the relays are found by: choose other names"
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations are added to the pods. A change rolls the relays.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^([a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="write annotations as name or prefix/name: letters, digits, '-', '_' and '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('relayfleet.io/'))",message="annotations of relayfleet.io/ are the operator's own: choose other names"
	// +optional
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// env are further variables of the relay container. Only those are allowed
	// that cannot lead a relay elsewhere. A change rolls the relays.
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []EnvironmentVariable `json:"env,omitempty"`

	// imagePullSecrets are Secrets of the same namespace that the image is fetched
	// with. A change rolls the relays.
	// +kubebuilder:validation:MaxItems=5
	// +listType=map
	// +listMapKey=name
	// +optional
	ImagePullSecrets []ObjectReference `json:"imagePullSecrets,omitempty"`

	// scheduling says which nodes the pods may run on. Unset: any; they are spread
	// over zones and nodes where that is possible.
	// +optional
	Scheduling Scheduling `json:"scheduling,omitzero"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",message="write the value of a label: letters, digits, '-', '_' and '.'"
type LabelValue string

// AnnotationValue is the value of an annotation.
//
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// EnvironmentVariable is a variable of the relay container.
type EnvironmentVariable struct {
	// name is the variable.
	// +kubebuilder:validation:Enum=GOGC;GOMAXPROCS;GOMEMLIMIT;GOTRACEBACK;TZ
	// +required
	Name string `json:"name,omitempty"`

	// value is its value.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +required
	Value string `json:"value,omitempty"`
}

// ObjectReference names an object of the same namespace.
type ObjectReference struct {
	// name is the object's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="write the name of an object in this namespace: lower case letters, digits, '-' and '.'"
	// +required
	Name string `json:"name,omitempty"`
}

// Scheduling says which nodes pods may run on.
type Scheduling struct {
	// nodeSelector are labels that a node must have. A change rolls the relays.
	// +kubebuilder:validation:MaxProperties=20
	// +optional
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// tolerations are taints of nodes that the pods put up with. A change rolls
	// the relays.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// priorityClassName is the pods' class of priority. A change rolls the relays.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="write the name of a PriorityClass: lower case letters, digits, '-' and '.'"
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// Toleration is a taint of nodes that pods put up with, as in a pod's own
// tolerations.
//
// +kubebuilder:validation:XValidation:rule="has(self.key) || (has(self.operator) && self.operator == 'Exists')",message="write a key, or operator Exists to put up with every taint"
// +kubebuilder:validation:XValidation:rule="!has(self.value) || !has(self.operator) || self.operator == 'Equal'",message="operator Exists takes no value: leave value out, or write Equal"
// +kubebuilder:validation:XValidation:rule="!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",message="tolerationSeconds is only for effect NoExecute"
type Toleration struct {
	// key is the taint's key. Unset: every key, with operator Exists.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="write a key as name or prefix/name: letters, digits, '-', '_' and '.'"
	// +optional
	Key string `json:"key,omitempty"`

	// operator is Equal (the value too) or Exists (any value). Unset: Equal.
	// +kubebuilder:validation:Enum=Equal;Exists
	// +optional
	Operator string `json:"operator,omitempty"`

	// value is the taint's value, for operator Equal. Unset: empty.
	// +optional
	Value LabelValue `json:"value,omitempty"`

	// effect is the taint's effect. Unset: every one.
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	// +optional
	Effect string `json:"effect,omitempty"`

	// tolerationSeconds is how long a pod stays on a node with effect NoExecute.
	// Unset: for ever.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// Resources are a container's, by name of the resource.
type Resources struct {
	// requests are what the scheduler sets aside. Unset: 100m CPU, 128Mi memory.
	// +kubebuilder:validation:MaxProperties=10
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// limits are what the container cannot exceed. Unset: 512Mi memory.
	// +kubebuilder:validation:MaxProperties=10
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// The values of PodMonitor.Mode and NetworkPolicy.Mode.
const (
	// ModeNone makes no such object.
	ModeNone = "None"
	// ModeCreate makes one.
	ModeCreate = "Create"
)

// PodMonitor says whether there is one for the relays.
//
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'Create') || (!has(self.intervalSeconds) && !has(self.labels))",message="intervalSeconds and labels are only for mode Create: write mode Create, or leave them out"
type PodMonitor struct {
	// mode is None, or Create, which needs the kinds of the Prometheus operator.
	// Unset: None.
	// +kubebuilder:validation:Enum=None;Create
	// +optional
	Mode string `json:"mode,omitempty"`

	// intervalSeconds is how often the relays are asked. Only with mode Create.
	// Unset: as Prometheus asks by itself.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=3600
	// +optional
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`

	// labels are added to the PodMonitor: many a Prometheus takes only those with
	// a label of its own. Only with mode Create.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^([a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="write labels as name or prefix/name: letters, digits, '-', '_' and '.'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('app.kubernetes.io/') && !k.contains('relayfleet.io/'))",message="labels of app.kubernetes.io/ and relayfleet.io/ are the operator's own: choose other names"
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`
}

// NetworkPolicy says whether there is one for the relays.
//
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'Create') || !has(self.metricsNamespace)",message="metricsNamespace is only for mode Create: write mode Create, or leave it out"
type NetworkPolicy struct {
	// mode is None, or Create: then only the operator may ask for reports, and
	// only pods of metricsNamespace for metrics. What relays connect to stays
	// open. Unset: None.
	// +kubebuilder:validation:Enum=None;Create
	// +optional
	Mode string `json:"mode,omitempty"`

	// metricsNamespace is the namespace whose pods may read metrics. Only with
	// mode Create. Unset: monitoring.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write the name of a namespace: lower case letters, digits and '-'"
	// +optional
	MetricsNamespace string `json:"metricsNamespace,omitempty"`
}
