package node

import (
	"context"
	"errors"
)

// Status is what others need to know of a node.
type Status struct {
	// Checkout is whose node it is; empty where there is none.
	Checkout string
	// Running says that all its components run and the node is ready.
	Running bool
	// Problem says what is wrong with one that is there but does not serve.
	Problem string
}

// Status looks at the machine's node without changing anything.
func (n *Node) Status(ctx context.Context) (Status, error) {
	o, err := readOwner()
	if err != nil || o == nil {
		return Status{}, err
	}
	status := Status{Checkout: o.Checkout}
	for _, p := range o.Processes {
		if !p.alive() {
			status.Problem = p.Name + " has ended"
			return status, nil
		}
	}
	if o.Checkout != n.Checkout || o.State != n.Paths.State {
		status.Problem = "it belongs to the checkout " + o.Checkout
		return status, nil
	}
	if !o.Ready {
		status.Problem = "its start has not ended"
		return status, nil
	}
	if err := n.checkReady(ctx); err != nil {
		status.Problem = err.Error()
		return status, nil //nolint:nilerr // That it is not ready is the answer.
	}
	status.Running = true
	return status, nil
}

// CheckOwned returns the sentence for a machine whose node is not this
// checkout's, or nil.
func (n *Node) CheckOwned() error {
	o, err := readOwner()
	switch {
	case err != nil:
		return err
	case o == nil || !o.alive():
		return errors.New("no node runs on this machine")
	default:
		return o.refuseOther(n.Checkout)
	}
}

// Owned says whether anything of this checkout's node is on the machine.
func (n *Node) Owned() bool {
	o, err := readOwner()
	return err == nil && o != nil && o.Checkout == n.Checkout
}
