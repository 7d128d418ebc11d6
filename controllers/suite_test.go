package controllers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/backlog"
	"github.com/relayfleet/relayfleet/controllers/resources"
	"github.com/relayfleet/relayfleet/relay/report"
)

// patience bounds every wait; nothing is expected to take this long.
const patience = 60 * time.Second

// pause is between two looks of a wait.
const pause = 50 * time.Millisecond

var (
	// admin may do everything; it stands for users and for Kubernetes' own
	// controllers, which a bare API server does not have.
	admin       client.Client
	adminConfig *rest.Config
	// operator is what managers connect with: a user who is bound to exactly the
	// roles of config/install and to nothing else.
	operator *rest.Config
)

func TestMain(m *testing.M) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Fprintln(os.Stderr, "These tests need kube-apiserver and etcd: run `make test`, "+
			"or set KUBEBUILDER_ASSETS to a folder that holds both.")
		os.Exit(1)
	}
	// The tests wait for polls most of the time, so many of them fit together.
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	ctrllog.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	code, err := runSuite(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runSuite(m *testing.M) (code int, err error) {
	environment := &envtest.Environment{
		CRDDirectoryPaths:        []string{kinds()[0].definition(), kinds()[1].definition()},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 2 * time.Minute,
	}
	config, err := environment.Start()
	if err != nil {
		return 0, fmt.Errorf("start the API server: %w", err)
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	scheme, err := NewScheme()
	if err != nil {
		return 0, err
	}
	config.QPS = -1
	adminConfig = config
	if admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 0, err
	}
	if err := bindOperator(context.Background()); err != nil {
		return 0, err
	}
	user, err := environment.AddUser(envtest.User{Name: "operator", Groups: []string{"system:authenticated"}}, nil)
	if err != nil {
		return 0, err
	}
	operator = user.Config()
	operator.QPS = -1
	return m.Run(), nil
}

// bindOperator gives the operator's user the generated roles.
func bindOperator(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "relayfleet-system"}}
	if err := admin.Create(ctx, namespace); err != nil {
		return err
	}
	data, err := os.ReadFile("../config/install/rbac/zz_generated.roles.yaml")
	if err != nil {
		return err
	}
	subject := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "operator"}}
	for document := range strings.SplitSeq(string(data), "---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		var role unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			return err
		}
		if err := admin.Create(ctx, &role); err != nil {
			return err
		}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.GetKind(), Name: role.GetName()}
		name := metav1.ObjectMeta{Name: role.GetName(), Namespace: role.GetNamespace()}
		var binding client.Object = &rbacv1.ClusterRoleBinding{ObjectMeta: name, Subjects: subject, RoleRef: ref}
		if role.GetKind() == "Role" {
			binding = &rbacv1.RoleBinding{ObjectMeta: name, Subjects: subject, RoleRef: ref}
		}
		if err := admin.Create(ctx, binding); err != nil {
			return err
		}
	}
	return nil
}

// world is a namespace with an operator of its own in it.
type world struct {
	*testing.T
	namespace string
	relays    *relays
}

var worlds atomic.Int32

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, namespace: fmt.Sprintf("world-%d", worlds.Add(1)), relays: &relays{}}
	w.relays.reports = map[string]func() (report.Report, error){}
	require.NoError(t, admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
	return w
}

// startOperator runs an operator until the returned function is called, or the
// test ends.
func (w *world) startOperator(change ...func(*Options)) (stop func()) {
	w.Helper()
	options := Options{
		PollInterval: backlog.MinInterval, RelayImage: "relayfleet:test", Workers: 2, Namespaces: []string{w.namespace},
		ProbeAddress: "0", MetricsAddress: "0", Reader: w.relays, SkipNameValidation: true,
	}
	for _, c := range change {
		c(&options)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m, err := NewManager(ctx, operator, options)
	require.NoError(w, err)
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the manager ended with %v", err)
		}
	})
	w.Cleanup(stop)
	return stop
}

// relays stand in for the pods: they answer at the pods' addresses.
type relays struct {
	mu      sync.Mutex
	reports map[string]func() (report.Report, error)
	// asked counts the questions.
	asked atomic.Int64
}

func (r *relays) nobody() (report.Report, error) { return report.Report{}, backlog.ErrUnreachable }

func (r *relays) Read(_ context.Context, address string) (report.Report, error) {
	defer r.asked.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	answer, known := r.reports[address]
	if !known {
		return report.Report{}, backlog.ErrUnreachable
	}
	return answer()
}

func (r *relays) set(address string, answer func() (report.Report, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports[address] = answer
}

// outbox is the least that a user writes.
func (w *world) outbox(change ...func(*v1alpha1.OutboxRelay)) *v1alpha1.OutboxRelay {
	o := &v1alpha1.OutboxRelay{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "orders"},
		Spec: v1alpha1.OutboxRelaySpec{
			Table: "outbox", Topic: "orders.events",
			Database: v1alpha1.Database{URIFrom: v1alpha1.SecretSource{
				SecretKeyRef: v1alpha1.KeyReference{Name: "orders-db-app", Key: "uri"},
			}},
			Kafka: v1alpha1.Kafka{BootstrapServers: []string{"kafka:9092"}},
		},
	}
	for _, c := range change {
		c(o)
	}
	return o
}

func (w *world) create(o client.Object) {
	w.Helper()
	require.NoError(w, admin.Create(w.Context(), o))
}

func (w *world) get() *v1alpha1.OutboxRelay {
	w.Helper()
	var o v1alpha1.OutboxRelay
	require.NoError(w, admin.Get(w.Context(), types.NamespacedName{Namespace: w.namespace, Name: "orders"}, &o))
	return &o
}

func (w *world) deployment() *appsv1.Deployment {
	w.Helper()
	var d appsv1.Deployment
	require.NoError(w, admin.Get(w.Context(), types.NamespacedName{Namespace: w.namespace, Name: "orders-relay"}, &d))
	return &d
}

// wait waits until the resource is as the condition asks.
func (w *world) wait(what string, condition func(*v1alpha1.OutboxRelay) bool) *v1alpha1.OutboxRelay {
	w.Helper()
	var last *v1alpha1.OutboxRelay
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		if last = w.get(); condition(last) {
			return last
		}
		if time.Now().After(deadline) {
			text, _ := yaml.Marshal(last.Status)
			w.Fatalf("%s: waited in vain; status:\n%s", what, text)
		}
	}
}

func (w *world) waitFor(condition string, value metav1.ConditionStatus, reason string) metav1.Condition {
	w.Helper()
	o := w.wait(condition+" "+string(value)+" "+reason, func(o *v1alpha1.OutboxRelay) bool {
		c := meta.FindStatusCondition(o.Status.Conditions, condition)
		return c != nil && c.Status == value && c.Reason == reason && c.ObservedGeneration == o.Generation
	})
	return *meta.FindStatusCondition(o.Status.Conditions, condition)
}

// deployed does what the Deployment controller does: it counts.
func (w *world) deployed(ready int32) {
	w.Helper()
	w.wait("a Deployment", func(*v1alpha1.OutboxRelay) bool {
		var d appsv1.Deployment
		return admin.Get(w.Context(), types.NamespacedName{Namespace: w.namespace, Name: "orders-relay"}, &d) == nil
	})
	d := w.deployment()
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: *d.Spec.Replicas, UpdatedReplicas: *d.Spec.Replicas,
		ReadyReplicas: ready, AvailableReplicas: ready,
	}
	require.NoError(w, admin.Status().Update(w.Context(), d))
}

var addresses atomic.Uint32

// pod runs a relay of the resource that answers with what the function says.
func (w *world) pod(o *v1alpha1.OutboxRelay, say func(*report.Report)) *corev1.Pod {
	w.Helper()
	n := addresses.Add(1)
	labels := map[string]string{
		resources.LabelManagedBy: resources.FieldOwner, resources.LabelResource: string(o.UID), "pod-template-hash": "abc",
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: fmt.Sprintf("orders-relay-abc-%d", n), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "orders-relay-abc", UID: "rs", Controller: new(true),
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "relay", Image: "relayfleet:test"}}},
	}
	w.create(pod)
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, fmt.Sprintf("10.0.%d.%d", n/250, n%250+1)
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	require.NoError(w, admin.Status().Update(w.Context(), pod))
	w.says(o, pod, say)
	return pod
}

// says changes what the relay answers from now on.
func (w *world) says(o *v1alpha1.OutboxRelay, pod *corev1.Pod, say func(*report.Report)) {
	r := healthy()
	r.Namespace, r.Resource, r.Pod = o.Namespace, string(o.UID), string(pod.UID)
	say(&r)
	w.relays.set(pod.Status.PodIP+":8080", func() (report.Report, error) { return r, nil })
}

func healthy() report.Report {
	ok := report.Health{Code: report.OK}
	return report.Report{
		Version: report.Version, State: report.Running, Database: ok, Schema: ok, Broker: ok,
		Backlog: &report.Backlog{OldestEligibleAgeSeconds: 1, OldestUnsentAgeSeconds: 2, Eligible: 3, Cap: 10000},
	}
}

func well(*report.Report) {}

func aged(seconds float64) func(*report.Report) {
	return func(r *report.Report) { r.Backlog.OldestEligibleAgeSeconds = seconds }
}

// kstatus is what tools that wait for objects make of the resource.
func (w *world) kstatus() status.Status {
	w.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.get())
	require.NoError(w, err)
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("OutboxRelay"))
	result, err := status.Compute(u)
	require.NoError(w, err)
	return result.Status
}

func resourceList(memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
}
