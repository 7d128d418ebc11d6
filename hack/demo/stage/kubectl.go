package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Kubectl runs kubectl, as a person would, against one cluster.
type Kubectl struct {
	Program, Kubeconfig string
}

// Run returns what kubectl prints; its error holds what kubectl complained of.
func (k Kubectl) Run(ctx context.Context, args ...string) (string, error) {
	return k.With(ctx, "", args...)
}

// With is Run with standard input.
func (k Kubectl) With(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, k.Program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.Kubeconfig)
	cmd.Stdin = strings.NewReader(stdin)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}

// Apply applies manifests.
func (k Kubectl) Apply(ctx context.Context, manifests string) error {
	_, err := k.With(ctx, manifests, "apply", "--server-side", "--force-conflicts", "-f", "-")
	return err
}

// Get reads objects into v, as `kubectl get ARGS -o json` prints them.
func (k Kubectl) Get(ctx context.Context, v any, args ...string) error {
	out, err := k.Run(ctx, append(append([]string{"get"}, args...), "-o", "json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), v); err != nil {
		return fmt.Errorf("read kubectl get %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// Await asks every second until ask says yes; its sentence says what is missing.
func Await(ctx context.Context, limit time.Duration, what string, ask func(context.Context) (done bool, missing string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := "nothing was answered"
	for {
		done, missing, err := ask(ctx)
		switch {
		case err == nil && done:
			return nil
		case err == nil:
			last = missing
		case ctx.Err() == nil:
			last = err.Error()
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s: %s", what, limit, last)
		}
	}
}
