package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/resources"
)

const (
	// reasonForeignObject: an object of the name that a child should have is
	// somebody else's.
	reasonForeignObject = "ForeignObject"
	// reasonChildRejected: the API server refuses a child as invalid.
	reasonChildRejected = "ChildRejected"
	// reasonSettingsInvalid: a relay would refuse the settings that the spec makes.
	reasonSettingsInvalid = "SettingsInvalid"
	// reasonChildTerminating: a child of before is still being removed.
	reasonChildTerminating = "ChildTerminating"

	maxCauseLength = 300
)

// applier writes children by server-side apply, and leaves out the writes that
// would change nothing.
type applier struct {
	client client.Client
	// live reads past the cache, which holds only what carries our label.
	live client.Reader

	mu      sync.Mutex
	written map[child]written
}

type child struct {
	kind string
	key  types.NamespacedName
}

// written is what was applied last, and the object as it was left by that.
type written struct{ intent, uid, version string }

// apply makes the object as the configuration wants it and leaves it in object,
// as it is then. An object of the same name that is not the resource's is
// refused, never taken over.
func (a *applier) apply(
	ctx context.Context, relay *v1alpha1.OutboxRelay, config runtime.ApplyConfiguration, object client.Object,
) error {
	id := child{kind: kindOf(object), key: types.NamespacedName{Namespace: relay.Namespace, Name: *nameOf(config)}}
	exists, err := a.find(ctx, id, object)
	if err != nil {
		return err
	}
	if exists {
		if err := a.checkOwner(relay, id, object); err != nil {
			return err
		}
	}
	intent, err := hashOf(config)
	if err != nil {
		return err
	}
	if exists && a.isWritten(id, intent, object) {
		return nil
	}
	// The configuration holds the server's answer afterwards.
	if err := a.client.Apply(ctx, config, client.FieldOwner(resources.FieldOwner), client.ForceOwnership); err != nil {
		return applyError(id, err)
	}
	if err := convert(config, object); err != nil {
		return err
	}
	a.remember(id, intent, object)
	return nil
}

// find reads the object from the cache, and from the API server when it is not
// there: the cache sees nothing of others.
func (a *applier) find(ctx context.Context, id child, object client.Object) (bool, error) {
	for _, reader := range []client.Reader{a.client, a.live} {
		err := reader.Get(ctx, id.key, object)
		if err == nil {
			return true, nil
		}
		if !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("get %s: %w", id.kind, err)
		}
	}
	return false, nil
}

func (a *applier) checkOwner(relay *v1alpha1.OutboxRelay, id child, object client.Object) error {
	owner := metav1.GetControllerOf(object)
	switch {
	case resources.Owns(relay, object) && object.GetDeletionTimestamp() == nil:
		return nil
	case owner != nil && owner.Kind == "OutboxRelay" && owner.Name == relay.Name:
		return &waitingError{reasonChildTerminating, fmt.Sprintf("%s %q of before is being removed", id.kind, id.key.Name)}
	default:
		return &blockedError{reasonForeignObject, fmt.Sprintf(
			"%s %q exists and does not belong to this resource: delete or rename it, or rename the resource", id.kind, id.key.Name)}
	}
}

func (a *applier) isWritten(id child, intent string, object client.Object) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.written[id] == written{intent, string(object.GetUID()), version(object)}
}

func (a *applier) remember(id child, intent string, object client.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written[id] = written{intent, string(object.GetUID()), version(object)}
}

// forget drops what is remembered of the children of a resource that is gone.
func (a *applier) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	relay := &v1alpha1.OutboxRelay{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}
	for id := range a.written {
		if id.key.Namespace == key.Namespace && isChildName(id.key.Name, resources.Name(relay)) {
			delete(a.written, id)
		}
	}
}

// isChildName may be true for a child of another resource too, which then costs
// one write that changes nothing.
func isChildName(name, base string) bool {
	return name == base || len(name) > len(base) && name[:len(base)+1] == base+"-"
}

// version moves with whatever a user can change: a status moves the resource version
// all the time, the generation moves only when somebody wants something.
func version(object client.Object) string {
	switch object.(type) {
	case *appsv1.Deployment, *policyv1.PodDisruptionBudget:
		return strconv.FormatInt(object.GetGeneration(), 10)
	}
	return object.GetResourceVersion()
}

func kindOf(object client.Object) string {
	switch object.(type) {
	case *appsv1.Deployment:
		return "Deployment"
	case *corev1.ConfigMap:
		return "ConfigMap"
	case *corev1.ServiceAccount:
		return "ServiceAccount"
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget"
	case *networkingv1.NetworkPolicy:
		return "NetworkPolicy"
	case *unstructured.Unstructured:
		return object.GetObjectKind().GroupVersionKind().Kind
	default:
		return fmt.Sprintf("%T", object)
	}
}

func nameOf(config runtime.ApplyConfiguration) *string {
	named, ok := config.(interface{ GetName() *string })
	if !ok || named.GetName() == nil {
		return new("")
	}
	return named.GetName()
}

func hashOf(config runtime.ApplyConfiguration) (string, error) {
	data, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("hash the wanted object: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

func convert(config runtime.ApplyConfiguration, object client.Object) error {
	data, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("read the applied object: %w", err)
	}
	if err := json.Unmarshal(data, object); err != nil {
		return fmt.Errorf("read the applied object: %w", err)
	}
	return nil
}

// applyError keeps names and times out of what becomes a condition's message: a
// message that differs each time would be written each time.
func applyError(id child, err error) error {
	switch {
	case apierrors.IsInvalid(err):
		return &blockedError{reasonChildRejected, fmt.Sprintf("the API server refuses the %s: %s", id.kind, cause(err))}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &waitingError{reasonChildTerminating, "the namespace is being removed"}
	default:
		return fmt.Errorf("apply %s: %w", id.kind, err)
	}
}

func cause(err error) string {
	text := "see the operator's log"
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			text = c.Field + ": " + c.Message
			break
		}
	}
	return shortened(text)
}

func shortened(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxCauseLength)], "")
}
