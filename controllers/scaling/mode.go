package scaling

import "fmt"

// Suspend is the decision where no relay shall run. It asks nothing: neither the
// backlog nor a gate can keep a relay alive.
func Suspend() Decision {
	return Decision{Reason: Suspended, Message: "spec.suspend is true: no relay runs and nothing is published"}
}

// ByHand is the decision where the user decides: replicas, or the size as it is if
// they have not said. The bounds are those of a size that is decided for them. What
// advice would have done is recommended, no more.
func ByHand(current int32, replicas *int32, advice Decision) Decision {
	d := Decision{Desired: max(1, current), Recommended: advice.Recommended, Reason: Manual}
	d.Message = fmt.Sprintf("scaling mode Manual without spec.replicas: %d relays", d.Desired)
	if replicas != nil {
		d.Desired = max(1, *replicas)
		d.Message = fmt.Sprintf("scaling mode Manual: spec.replicas is %d", d.Desired)
	}
	if advice.Recommended != d.Desired {
		d.Message += fmt.Sprintf("; mode Auto would have %d (%s)", advice.Recommended, advice.Reason)
	}
	return d
}
