package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Root is the repository's folder: where this program was compiled from.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// clusterStatus is what `hack/cluster status` says of the cluster.
type clusterStatus struct {
	Kind             string `json:"kind"`
	Running          bool   `json:"running"`
	Kubeconfig       string `json:"kubeconfig"`
	Kubectl          string `json:"kubectl"`
	NetworkNamespace string `json:"networkNamespace"`
	PodsReach        string `json:"podsReach"`
	Loads            bool   `json:"loads"`
	Kills            bool   `json:"kills"`
}

// Cluster runs a command of hack/cluster and returns its standard output. Its
// progress goes to w.
func Cluster(ctx context.Context, w io.Writer, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"-C", filepath.Join(Root(), "hack", "cluster"), "run", "."}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, w
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("cluster %s: %w", args[0], err)
	}
	return strings.TrimSpace(out.String()), nil
}

// InstallPackages installs Debian packages.
func InstallPackages(w io.Writer) func(context.Context, []string) error {
	return func(ctx context.Context, names []string) error {
		_, err := Cluster(ctx, w, append([]string{"packages"}, names...)...)
		return err
	}
}

func startCluster(ctx context.Context, w io.Writer) (clusterStatus, error) {
	if _, err := Cluster(ctx, w, "up"); err != nil {
		return clusterStatus{}, err
	}
	return askCluster(ctx)
}

func askCluster(ctx context.Context) (clusterStatus, error) {
	out, err := Cluster(ctx, io.Discard, "status", "-o", "json")
	var s clusterStatus
	if jsonErr := json.Unmarshal([]byte(out), &s); jsonErr != nil {
		return clusterStatus{}, fmt.Errorf("read the cluster's status: %w", errorOr(err, jsonErr))
	}
	return s, nil // A cluster that does not run says so in Running.
}

func errorOr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// Killed is what the runtime says of a container that it killed.
type Killed struct {
	ExitCode int `json:"exitCode"`
}

// Kill ends a pod's container by a SIGKILL from the container runtime, and
// returns its exit code. `kubectl delete --force` would send a SIGTERM first.
func (s *Stage) Kill(ctx context.Context, namespace, pod string) (Killed, error) {
	if !s.cluster.Kills {
		return Killed{}, errCannotKill
	}
	var complaint bytes.Buffer
	out, err := Cluster(ctx, &complaint, "kill", pod, "-n", namespace)
	if err != nil {
		return Killed{}, fmt.Errorf("kill pod %s: %w: %s", pod, err, strings.TrimSpace(complaint.String()))
	}
	var k Killed
	if err := json.Unmarshal([]byte(out), &k); err != nil {
		return Killed{}, fmt.Errorf("kill pod %s: read %q: %w", pod, out, err)
	}
	return k, nil
}

// CanKill says whether Kill works here.
func (s *Stage) CanKill() bool { return s.cluster.Kills }
