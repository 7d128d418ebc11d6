package controllers

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

const (
	firstBackoff = time.Second
	lastBackoff  = 2 * time.Minute
	// passTimeout ends a pass that hangs on the API server.
	passTimeout = time.Minute
)

// watch wakes a pass for a changed spec, a changed child, and a new report.
func (r *OutboxRelayReconciler) watch(m manager.Manager, o Options) error {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, lastBackoff)
	err := builder.ControllerManagedBy(m).
		Named("outboxrelay").
		For(&v1alpha1.OutboxRelay{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(deploymentChanged())).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.ServiceAccount{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(wantedChanged())).
		Owns(&networkingv1.NetworkPolicy{}).
		WatchesRawSource(source.TypedChannel(r.poller.Woken(), toRequest())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: o.Workers,
			ReconciliationTimeout:   passTimeout,
			RateLimiter:             backoff,
			SkipNameValidation:      &o.SkipNameValidation,
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	return nil
}

func toRequest() handler.TypedEventHandler[types.NamespacedName, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, name types.NamespacedName) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: name}}
		})
}

// wantedChanged passes what somebody wants, not what has become of it.
func wantedChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
}

// deploymentChanged passes what a status is made of. The generation alone would
// hide pods that become ready.
func deploymentChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, isDeployment := e.ObjectOld.(*appsv1.Deployment)
		after, isDeploymentToo := e.ObjectNew.(*appsv1.Deployment)
		if !isDeployment || !isDeploymentToo {
			return true
		}
		return before.Generation != after.Generation ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			before.Status.ObservedGeneration != after.Status.ObservedGeneration ||
			before.Status.Replicas != after.Status.Replicas ||
			before.Status.ReadyReplicas != after.Status.ReadyReplicas ||
			before.Status.UpdatedReplicas != after.Status.UpdatedReplicas ||
			isStuck(before) != isStuck(after) ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
	}}
}
