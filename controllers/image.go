package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managerContainer is the manager's container in its pod, as config/install has it.
const managerContainer = "manager"

// ownImage is the image that the manager itself runs, read once from its own
// pod: the relays run the same, and nobody has to say so twice.
func ownImage(ctx context.Context, reader client.Reader, pod client.ObjectKey) (string, error) {
	if pod.Name == "" || pod.Namespace == "" {
		return "", fmt.Errorf("the relays' image is unknown: set POD_NAME and POD_NAMESPACE of the manager's pod, or --relay-image")
	}
	var own corev1.Pod
	if err := reader.Get(ctx, pod, &own); err != nil {
		return "", fmt.Errorf("read the manager's own pod: %w", err)
	}
	for _, c := range own.Spec.Containers {
		if c.Name == managerContainer {
			return c.Image, nil
		}
	}
	return "", fmt.Errorf("pod %s has no container %q to take the relays' image from", pod, managerContainer)
}
