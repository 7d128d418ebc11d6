package controllers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/backlog"
	"github.com/relayfleet/relayfleet/controllers/resources"
)

// installNamespace is where config/install puts the operator; one that runs outside of
// a pod does not know a namespace of its own.
const installNamespace = "relayfleet-system"

// leaderElectionID names the lease that the leader holds.
const leaderElectionID = "relayfleet-controller"

// Options are what the operator is started with.
type Options struct {
	// PollInterval is the time between two questions to one fleet, at least
	// backlog.MinInterval.
	PollInterval time.Duration
	// RelayImage is the relays' image; empty: that of the pod named by Pod.
	RelayImage string
	// Pod is the manager's own pod.
	Pod types.NamespacedName
	// LeaderElection lets one of several managers work at a time; its lease is
	// in the namespace of Pod.
	LeaderElection bool
	// Namespaces are those to work in; none means all.
	Namespaces []string
	// Workers is how many passes run at once, each for another resource.
	Workers int
	// ProbeAddress and MetricsAddress are host:port; "0" serves none.
	ProbeAddress, MetricsAddress string

	// Reader asks a relay for its report; nil: over HTTP.
	Reader backlog.Reader
	// SkipNameValidation allows several managers in one process, as tests have.
	SkipNameValidation bool
}

// NewScheme knows every kind that the operator reads or writes.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("kinds of Kubernetes: %w", err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("own kinds: %w", err)
	}
	return scheme, nil
}

// NewManager puts the operator together. It does nothing before its Start.
func NewManager(ctx context.Context, config *rest.Config, o Options) (manager.Manager, error) {
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.UserAgent = resources.FieldOwner
	m, err := manager.New(config, managerOptions(scheme, o))
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("liveness: %w", err)
	}
	if err := m.AddReadyzCheck("cache", cacheSynced(m.GetCache())); err != nil {
		return nil, fmt.Errorf("readiness: %w", err)
	}
	return m, addOutboxRelays(ctx, m, o)
}

func managerOptions(scheme *runtime.Scheme, o Options) manager.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{resources.LabelManagedBy: resources.FieldOwner})}
	return manager.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&appsv1.Deployment{}: ours, &corev1.ConfigMap{}: ours, &corev1.ServiceAccount{}: ours, &corev1.Pod{}: ours,
				&policyv1.PodDisruptionBudget{}: ours, &networkingv1.NetworkPolicy{}: ours,
			},
			// Reading a kind by mistake must not start a watch of the whole cluster.
			ReaderFailOnMissingInformer: true,
			DefaultNamespaces:           namespaces(o.Namespaces),
		},
		Metrics:                metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress: o.ProbeAddress,
		LeaderElection:         o.LeaderElection,
		LeaderElectionID:       leaderElectionID,
		// The process ends right after Start, so the lease may be given back.
		LeaderElectionReleaseOnCancel: true,
		LeaderElectionNamespace:       o.Pod.Namespace,
	}
}

func namespaces(names []string) map[string]cache.Config {
	if len(names) == 0 {
		return nil
	}
	only := make(map[string]cache.Config, len(names))
	for _, name := range names {
		only[name] = cache.Config{}
	}
	return only
}

func addOutboxRelays(ctx context.Context, m manager.Manager, o Options) error {
	image := o.RelayImage
	if image == "" {
		var err error
		if image, err = ownImage(ctx, m.GetAPIReader(), o.Pod); err != nil {
			return err
		}
	}
	if o.Reader == nil {
		o.Reader = backlog.NewHTTPReader()
	}
	poller, err := backlog.New(backlog.Options{
		Client: m.GetClient(), Reader: o.Reader, Interval: o.PollInterval, Log: m.GetLogger().WithName("backlog"),
	})
	if err != nil {
		return err
	}
	if err := m.Add(poller); err != nil {
		return fmt.Errorf("add the poller: %w", err)
	}
	// The poller reads these from the cache, whether or not the controller has
	// begun to watch them.
	for _, object := range []client.Object{&v1alpha1.OutboxRelay{}, &corev1.Pod{}} {
		if _, err := m.GetCache().GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("watch what the poller reads: %w", err)
		}
	}
	r := &OutboxRelayReconciler{
		client:  m.GetClient(),
		applier: &applier{client: m.GetClient(), live: m.GetAPIReader(), written: map[child]written{}},
		poller:  poller,
		events:  m.GetEventRecorder(resources.FieldOwner),
		memory:  &memory{tracks: map[types.NamespacedName]*track{}},
		image:   image, namespace: cmp.Or(o.Pod.Namespace, installNamespace),
		now: time.Now,
	}
	return r.watch(m, o)
}

func cacheSynced(c cache.Cache) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return fmt.Errorf("the cache is not filled yet")
		}
		return nil
	}
}
