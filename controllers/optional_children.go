package controllers

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/resources"
)

// reasonPodMonitorUnknown: the cluster does not have the kind.
const reasonPodMonitorUnknown = "PodMonitorUnknown"

func (r *OutboxRelayReconciler) applyDisruptionBudget(ctx context.Context, s *scope) error {
	return r.applier.apply(ctx, s.relay, resources.DisruptionBudget(s.relay), &policyv1.PodDisruptionBudget{})
}

func (r *OutboxRelayReconciler) applyNetworkPolicy(ctx context.Context, s *scope) error {
	if s.relay.Spec.NetworkPolicy.Mode == v1alpha1.ModeCreate {
		return r.applier.apply(ctx, s.relay, resources.NetworkPolicy(s.relay, r.namespace), &networkingv1.NetworkPolicy{})
	}
	var policy networkingv1.NetworkPolicy
	err := r.client.Get(ctx, types.NamespacedName{Namespace: s.relay.Namespace, Name: resources.Name(s.relay)}, &policy)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return r.remove(ctx, s.relay, &policy)
}

// remove deletes a child that is not wanted any more, and nothing of others.
func (r *OutboxRelayReconciler) remove(ctx context.Context, relay *v1alpha1.OutboxRelay, object client.Object) error {
	if !resources.Owns(relay, object) || object.GetDeletionTimestamp() != nil {
		return nil
	}
	err := r.client.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID())})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", kindOf(object), err)
	}
	return nil
}

// monitoring is what was last made sure of about a PodMonitor. Its kind may not be
// there, so that it is not watched: it is asked for when something changes, and at
// the safety net's pace.
type monitoring struct {
	intent string
	at     int64
}

func (r *OutboxRelayReconciler) applyPodMonitor(ctx context.Context, s *scope) error {
	wanted := s.relay.Spec.PodMonitor.Mode == v1alpha1.ModeCreate
	monitor, intent := resources.PodMonitor(s.relay), ""
	if wanted {
		var err error
		if intent, err = hashOf(client.ApplyConfigurationFromUnstructured(monitor)); err != nil {
			return err
		}
	}
	if last := s.track.monitoring; last != nil && last.intent == intent && (!wanted || s.now.Unix()-last.at < int64(safetyNet.Seconds())) {
		return nil
	}
	err := r.makeSureOf(ctx, s.relay, monitor, wanted)
	if meta.IsNoMatchError(err) && !wanted {
		err = nil
	}
	switch {
	case meta.IsNoMatchError(err):
		return &blockedError{
			reasonPodMonitorUnknown,
			"the cluster has no kind PodMonitor: install the Prometheus operator, or leave spec.podMonitor out; the relays run all the same",
		}
	case err != nil:
		return err
	}
	s.track.monitoring = &monitoring{intent: intent, at: s.now.Unix()}
	return nil
}

func (r *OutboxRelayReconciler) makeSureOf(
	ctx context.Context, relay *v1alpha1.OutboxRelay, monitor *unstructured.Unstructured, wanted bool,
) error {
	existing := &unstructured.Unstructured{}
	existing.SetGroupVersionKind(monitor.GroupVersionKind())
	err := r.applier.live.Get(ctx, client.ObjectKeyFromObject(monitor), existing)
	switch {
	case apierrors.IsNotFound(err) && !wanted:
		return nil
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("get PodMonitor: %w", err)
	case !wanted:
		return r.remove(ctx, relay, existing)
	case err == nil:
		id := child{kind: monitor.GetKind(), key: client.ObjectKeyFromObject(monitor)}
		if err := r.applier.checkOwner(relay, id, existing); err != nil {
			return err
		}
	}
	err = r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(monitor), client.FieldOwner(resources.FieldOwner), client.ForceOwnership)
	if err != nil {
		return applyError(child{kind: monitor.GetKind()}, err)
	}
	return nil
}
