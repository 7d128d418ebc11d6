package play

import (
	"context"
	"fmt"
	"strings"

	"github.com/relayfleet/relayfleet/hack/demo/stage"
)

// fleet is what the demo reads of an OutboxRelay: the same as `kubectl get` shows.
type fleet struct {
	Status struct {
		Conditions              []struct{ Type, Status, Reason, Message string }
		Replicas, ReadyReplicas int
		Backlog                 struct {
			OldestEligibleAgeSeconds *int64
			PublishedPerMinute       *int64
		}
		Scaling struct {
			DesiredReplicas int
			Reason, Message string
		}
	}
}

func (s *shop) fleet(ctx context.Context) (fleet, error) {
	var f fleet
	return f, s.stage.Kubectl.Get(ctx, &f, "outboxrelay", "orders", "-n", namespace)
}

// is says whether a condition is True, and else its reason and message.
func (f fleet) is(condition string) (bool, string) {
	for _, c := range f.Status.Conditions {
		if c.Type == condition {
			return c.Status == "True", c.Reason + ": " + c.Message
		}
	}
	return false, condition + " is not reported yet"
}

// lag is the printed age of the backlog.
func (f fleet) lag() string {
	if age := f.Status.Backlog.OldestEligibleAgeSeconds; age != nil {
		return fmt.Sprintf("%ds", *age)
	}
	return "?"
}

// pod is a relay's.
type pod struct {
	Metadata struct{ Name string }
	Status   struct {
		Conditions []struct{ Type, Status string }
	}
}

func (p pod) ready() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

func relayPods(ctx context.Context, kubectl stage.Kubectl) ([]pod, error) {
	var list struct{ Items []pod }
	err := kubectl.Get(ctx, &list, "pods", "-n", namespace, "-l", "app.kubernetes.io/component=relay")
	if err != nil && strings.Contains(err.Error(), "NotFound") {
		return nil, nil
	}
	return list.Items, err
}
