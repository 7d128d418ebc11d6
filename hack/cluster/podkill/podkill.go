// Package podkill ends containers by a SIGKILL that the container runtime sends.
package podkill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Killer runs the two clients that a kill needs, and returns what they print.
type Killer struct {
	Kubectl func(ctx context.Context, args ...string) (string, error)
	// Ctr is containerd's client in the namespace of Kubernetes.
	Ctr func(ctx context.Context, args ...string) (string, error)
}

// Killed is the proof of a kill.
type Killed struct {
	Namespace   string `json:"namespace"`
	Pod         string `json:"pod"`
	Container   string `json:"container"`
	ContainerID string `json:"containerID"`
	ExitCode    int    `json:"exitCode"`
}

// killedCode is what a process that a SIGKILL ended exits with.
const killedCode = 137

// Kill ends a pod's container by a SIGKILL from the runtime and waits until its
// status shows the exit code. Deleting the pod would not do: however forced, it
// sends a SIGTERM first. An empty container means the pod's first.
func (k Killer) Kill(ctx context.Context, namespace, pod, container string) (Killed, error) {
	now, err := k.podStatus(ctx, namespace, pod)
	if err != nil {
		return Killed{}, err
	}
	target, err := now.running(container)
	if err != nil {
		return Killed{}, fmt.Errorf("pod %s/%s: %w", namespace, pod, err)
	}
	id := target.id()
	if _, err := k.Ctr(ctx, "tasks", "kill", "-s", "SIGKILL", id); err != nil {
		return Killed{}, fmt.Errorf("kill container %s: %w", id, err)
	}
	code, err := k.exitCode(ctx, namespace, pod, id)
	killed := Killed{Namespace: namespace, Pod: pod, Container: target.Name, ContainerID: id, ExitCode: code}
	if err == nil && code != killedCode {
		err = fmt.Errorf("container %s of pod %s/%s exited with %d instead of %d: it ended before the kill",
			target.Name, namespace, pod, code, killedCode)
	}
	return killed, err
}

// exitCode waits for the kubelet to report the end of one container.
func (k Killer) exitCode(ctx context.Context, namespace, pod, id string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		now, err := k.podStatus(ctx, namespace, pod)
		if code, ended := now.exit(id); ended {
			return code, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for the end of container %s of pod %s/%s in its status: %w",
				id, namespace, pod, errors.Join(ctx.Err(), err))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (k Killer) podStatus(ctx context.Context, namespace, pod string) (podStatus, error) {
	text, err := k.Kubectl(ctx, "get", "pod", pod, "-n", namespace, "-o", "jsonpath={.status}")
	if err != nil {
		return podStatus{}, err
	}
	var status podStatus
	return status, json.Unmarshal([]byte(text), &status)
}

// podStatus is what a kill reads of a pod's status.
type podStatus struct {
	ContainerStatuses []containerStatus `json:"containerStatuses"`
}

type containerStatus struct {
	Name        string `json:"name"`
	ContainerID string `json:"containerID"`
	State       state  `json:"state"`
	LastState   state  `json:"lastState"`
}

type state struct {
	Running    *struct{}   `json:"running"`
	Terminated *terminated `json:"terminated"`
}

type terminated struct {
	ContainerID string `json:"containerID"`
	ExitCode    int    `json:"exitCode"`
}

func (c containerStatus) id() string { return strings.TrimPrefix(c.ContainerID, "containerd://") }

func (p podStatus) running(container string) (containerStatus, error) {
	for _, c := range p.ContainerStatuses {
		if container != "" && c.Name != container {
			continue
		}
		if c.State.Running == nil {
			return c, fmt.Errorf("container %s does not run", c.Name)
		}
		return c, nil
	}
	return containerStatus{}, fmt.Errorf("no container %s is reported", container)
}

func (p podStatus) exit(id string) (code int, ended bool) {
	for _, c := range p.ContainerStatuses {
		for _, t := range []*terminated{c.State.Terminated, c.LastState.Terminated} {
			if t != nil && strings.TrimPrefix(t.ContainerID, "containerd://") == id {
				return t.ExitCode, true
			}
		}
	}
	return 0, false
}
