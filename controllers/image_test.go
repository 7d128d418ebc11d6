package controllers

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

func TestTheRelaysRunTheImageOfTheManagersPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "manager-0"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "sidecar", Image: "sidecar:v1"}, {Name: managerContainer, Image: "registry.example.com/relayfleet:v7"},
		}},
	}
	w.create(pod)
	w.startOperator(func(o *Options) { o.RelayImage, o.Pod = "", client.ObjectKeyFromObject(pod) })
	w.create(w.outbox())
	o := w.wait("an image", func(o *v1alpha1.OutboxRelay) bool { return o.Status.Image != "" })
	require.Equal(t, "registry.example.com/relayfleet:v7", o.Status.Image)
	o = w.change(func(s *v1alpha1.OutboxRelaySpec) { s.Image = "registry.example.com/relayfleet:v6" })
	w.wait("the pinned image", func(got *v1alpha1.OutboxRelay) bool { return got.Status.Image == o.Spec.Image })
}

func TestWithoutAPodTheImageHasToBeSaid(t *testing.T) {
	t.Parallel()
	_, err := ownImage(t.Context(), admin, client.ObjectKey{})
	require.EqualError(t, err, "the relays' image is unknown: set POD_NAME and POD_NAMESPACE of the manager's pod, or --relay-image")
	_, err = ownImage(t.Context(), admin, client.ObjectKey{Namespace: "default", Name: "nobody"})
	require.ErrorContains(t, err, "read the manager's own pod")
}
