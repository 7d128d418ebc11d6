package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/backlog"
	"github.com/relayfleet/relayfleet/controllers/resources"
	"github.com/relayfleet/relayfleet/controllers/scaling"
)

// The verbs below are all that the operator may do, in the order of groups. It
// has none on Secrets.
//
// +kubebuilder:rbac:groups=outbox.relayfleet.io,resources=outboxrelays,verbs=get;list;watch
// +kubebuilder:rbac:groups=outbox.relayfleet.io,resources=outboxrelays/status,verbs=patch
// +kubebuilder:rbac:groups=outbox.relayfleet.io,resources=outboxrelays/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=podmonitors,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update,namespace=relayfleet-system,roleName=relayfleet-leader-election
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch,namespace=relayfleet-system,roleName=relayfleet-leader-election

// OutboxRelayReconciler makes the world as an OutboxRelay wants it, and the
// status of the OutboxRelay as the world is.
type OutboxRelayReconciler struct {
	client  client.Client
	applier *applier
	poller  *backlog.Poller
	events  events.EventRecorder
	memory  *memory
	// image is the relays' image where the resource names none.
	image string
	// namespace is the operator's own.
	namespace string
	now       func() time.Time
}

// scope is one pass: what it read, what it found, what it will say.
type scope struct {
	relay       *v1alpha1.OutboxRelay
	track       *track
	now         time.Time
	observation backlog.Observation
	policy      scaling.Policy
	decision    scaling.Decision
	settings    resources.Settings
	// deployment is nil until it exists.
	deployment *appsv1.Deployment
	// unsettledFor is for how long a condition holds that then passes by itself.
	unsettledFor time.Duration
	// problem is what ended the pass early.
	problem error
}

// Reconcile is one pass over one resource.
func (r *OutboxRelayReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var relay v1alpha1.OutboxRelay
	if err := r.client.Get(ctx, request.NamespacedName, &relay); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !relay.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // The garbage collector takes the children.
	}
	s := &scope{relay: &relay, track: r.memory.of(request.NamespacedName, relay.UID), now: r.now()}
	for _, phase := range []func(context.Context, *scope) error{
		r.observe,
		r.decide,
		r.applyServiceAccount,
		r.applySettings,
		r.applyDeployment,
		r.removeOldSettings,
		r.applyDisruptionBudget,
		r.applyNetworkPolicy,
		r.applyPodMonitor,
	} {
		if s.problem = phase(ctx, s); s.problem != nil {
			break
		}
	}
	if err := r.writeStatus(ctx, s); err != nil {
		return reconcile.Result{}, errors.Join(s.problem, err)
	}
	return s.result()
}

func (r *OutboxRelayReconciler) forget(key types.NamespacedName) {
	r.memory.forget(key)
	r.applier.forget(key)
}

// result says when to look again. The priority is always said: a resource that
// came in with the first list would else keep the lowest for ever.
func (s *scope) result() (reconcile.Result, error) {
	if isRetried(s.problem) {
		return reconcile.Result{}, s.problem
	}
	after := safetyNet
	var waiting *waitingError
	switch {
	case errors.As(s.problem, &waiting):
		after = retryWaiting
	case s.problem != nil:
		after = retryBlocked
	}
	if left := s.unsettledFor; left > 0 {
		after = min(after, left)
	}
	return reconcile.Result{RequeueAfter: after, Priority: new(0)}, nil
}

// observe gathers what is known, and takes the size over after a restart.
func (r *OutboxRelayReconciler) observe(ctx context.Context, s *scope) error {
	s.observation = r.poller.Observation(s.now, s.relay.UID)
	s.policy = policyOf(s.relay.Spec.Scaling, r.poller.MaxSampleAge())
	var deployment appsv1.Deployment
	err := r.client.Get(ctx, types.NamespacedName{Namespace: s.relay.Namespace, Name: resources.Name(s.relay)}, &deployment)
	switch {
	case err == nil && resources.Owns(s.relay, &deployment):
		s.deployment = &deployment
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("get Deployment: %w", err)
	}
	if !s.track.started {
		s.track.start(s.relay, s.deployment)
	}
	return nil
}

// start takes the size over. Status and Deployment are written one after the
// other; where they differ, the larger one cannot make the fleet too small.
func (t *track) start(relay *v1alpha1.OutboxRelay, deployment *appsv1.Deployment) {
	t.started = true
	if last := relay.Status.Scaling; last != nil {
		if last.DesiredReplicas != nil {
			t.desired = *last.DesiredReplicas
		}
		if last.LastScaleTime != nil {
			t.history.LastScale = last.LastScaleTime.Time
		}
	}
	if deployment != nil && deployment.Spec.Replicas != nil {
		t.desired = max(t.desired, *deployment.Spec.Replicas)
	}
	if look := relay.Status.Backlog; look != nil && look.SampledAt != nil {
		t.writtenAt = look.SampledAt.Time
	}
}

func policyOf(spec v1alpha1.Scaling, maxSampleAge time.Duration) scaling.Policy {
	e := spec.Effective()
	return scaling.Policy{
		MinReplicas:      e.MinReplicas,
		MaxReplicas:      e.MaxReplicas,
		TargetBacklogAge: inSeconds(e.TargetBacklogAgeSeconds),
		ScaleUpWindow:    inSeconds(e.ScaleUpWindowSeconds),
		ScaleDownWindow:  inSeconds(e.ScaleDownWindowSeconds),
		Cooldown:         inSeconds(e.CooldownSeconds),
		MaxSampleAge:     maxSampleAge,
	}
}

func inSeconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// decide sizes the fleet. The size of before comes from the track, not from the
// cache, which may not have seen the last change yet.
func (r *OutboxRelayReconciler) decide(_ context.Context, s *scope) error {
	sample := sampleOf(s)
	s.track.history = scaling.Observe(s.now, s.policy, sample, s.track.history)
	s.decision = scaling.Decide(s.now, s.policy, sample, s.track.history)
	switch spec := s.relay.Spec; {
	case spec.Suspend:
		s.decision = scaling.Suspend()
	case spec.Scaling.Effective().Mode == v1alpha1.ScalingManual:
		s.decision = scaling.ByHand(s.track.desired, spec.Replicas, s.decision)
	}
	if s.track.desired != 0 && s.track.desired != s.decision.Desired {
		s.track.history.LastScale = s.now
	}
	s.track.desired = s.decision.Desired
	return nil
}

func sampleOf(s *scope) scaling.Sample {
	sample := scaling.Sample{
		Current:  s.track.desired,
		Database: availability(databaseFinding(s.observation)),
		Broker:   availability(brokerFinding(s.observation)),
	}
	if s.deployment != nil {
		sample.Ready = new(s.deployment.Status.ReadyReplicas)
	}
	if look, known := s.observation.Newest(); known {
		published := s.observation.Rates().Published
		sample.Backlog = &scaling.Backlog{
			At:                 look.At,
			OldestEligibleAge:  time.Duration(look.Backlog.OldestEligibleAgeSeconds * float64(time.Second)),
			Eligible:           look.Backlog.Eligible,
			Capped:             look.Backlog.Cap > 0 && look.Backlog.Eligible >= look.Backlog.Cap,
			PublishedPerMinute: &published,
		}
	}
	return sample
}

func (r *OutboxRelayReconciler) applyServiceAccount(ctx context.Context, s *scope) error {
	return r.applier.apply(ctx, s.relay, resources.ServiceAccount(s.relay), &corev1.ServiceAccount{})
}

// applySettings leaves the relays as they are where new ones would refuse to start:
// the rules of admission cannot say everything that a relay asks for.
func (r *OutboxRelayReconciler) applySettings(ctx context.Context, s *scope) error {
	var err error
	if s.settings, err = resources.RenderSettings(s.relay); err != nil {
		return &blockedError{reasonSettingsInvalid, shortened("the relays would refuse their " + strings.ReplaceAll(err.Error(), "\n", "; "))}
	}
	return r.applier.apply(ctx, s.relay, resources.ConfigMap(s.relay, s.settings), &corev1.ConfigMap{})
}

func (r *OutboxRelayReconciler) applyDeployment(ctx context.Context, s *scope) error {
	fleet := resources.Fleet{Replicas: s.decision.Desired, Image: r.imageOf(s.relay), Settings: s.settings.Name}
	var deployment appsv1.Deployment
	if err := r.applier.apply(ctx, s.relay, resources.Deployment(s.relay, fleet), &deployment); err != nil {
		return err
	}
	if s.deployment == nil || !equality.Semantic.DeepEqual(s.deployment.Spec.Template, deployment.Spec.Template) {
		s.track.templateGeneration = deployment.Generation
	}
	s.deployment = &deployment
	return nil
}

func (r *OutboxRelayReconciler) imageOf(relay *v1alpha1.OutboxRelay) string {
	if relay.Spec.Image != "" {
		return relay.Spec.Image
	}
	return r.image
}

// removeOldSettings keeps the newest few, which pods of an older template may
// still start with.
func (r *OutboxRelayReconciler) removeOldSettings(ctx context.Context, s *scope) error {
	var list corev1.ConfigMapList
	err := r.client.List(ctx, &list, client.InNamespace(s.relay.Namespace),
		client.MatchingLabels(resources.Selector(s.relay)))
	if err != nil {
		return fmt.Errorf("list settings: %w", err)
	}
	old := slices.DeleteFunc(list.Items, func(c corev1.ConfigMap) bool {
		return c.Name == s.settings.Name || !resources.Owns(s.relay, &c)
	})
	slices.SortFunc(old, func(a, b corev1.ConfigMap) int {
		if order := b.CreationTimestamp.Compare(a.CreationTimestamp.Time); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
	for i := resources.KeptSettings - 1; i < len(old); i++ {
		if err := r.client.Delete(ctx, &old[i], client.Preconditions{UID: &old[i].UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete old settings: %w", err)
		}
	}
	return nil
}
