// Package node runs a single-node Kubernetes on this machine: real etcd, API
// server, controller manager, scheduler, containerd and kubelet, all of them in
// one network namespace, with nothing of it left after a stop.
package node

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/relayfleet/relayfleet/hack/cluster/progress"
)

// Packages are the Debian packages that a node needs.
var Packages = []string{"runc", "containernetworking-plugins", "iproute2", "util-linux"}

// Node is the node of one checkout.
type Node struct {
	// Checkout is the folder of the repository that starts it.
	Checkout string
	Paths    Paths
	Binaries Binaries
	Steps    *progress.Steps
}

const advice = "mend what the log names and run the same command again, it clears what this start left; " +
	"`make cluster-down` clears it too"

// Up starts the node, or does nothing where this checkout's node runs and
// answers. What a killed node left is cleared first.
func (n *Node) Up(ctx context.Context) error {
	unlock, err := lockMachine(n.Checkout)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := readOwner()
	if err != nil {
		return err
	}
	if err := before.refuseOther(n.Checkout); err != nil {
		return err
	}
	if n.serves(ctx, before) {
		n.Steps.Say("The cluster runs already.")
		return nil
	}
	if err := n.clearLeftovers(ctx, before); err != nil {
		return err
	}
	return n.start(ctx)
}

// serves says whether the recorded node is this one, complete and ready.
func (n *Node) serves(ctx context.Context, o *owner) bool {
	return o != nil && o.whole() && o.State == n.Paths.State &&
		slices.Equal(o.Binaries, n.Binaries.folders()) && n.checkReady(ctx) == nil
}

func (n *Node) clearLeftovers(ctx context.Context, before *owner) error {
	if before == nil && !leftovers(n.Paths.State) {
		return nil
	}
	return n.Steps.Run(ctx, progress.Step{
		Name: "Clear what an earlier node left", Expect: 15 * time.Second, Advice: advice,
		Do: func(ctx context.Context, _ *progress.At) error { return removeAll(ctx, before, n.Paths) },
	})
}

func (n *Node) start(ctx context.Context) error {
	o := &owner{
		Checkout: n.Checkout, State: n.Paths.State, Binaries: n.Binaries.folders(), Kernel: readKernel(),
	}
	step := func(name string, expect time.Duration, do func(context.Context) error) progress.Step {
		return progress.Step{Name: name, Expect: expect, Advice: advice, Do: func(ctx context.Context, _ *progress.At) error { return do(ctx) }}
	}
	return n.Steps.Run(ctx,
		step("Make certificates and settings", 2*time.Second, func(context.Context) error { return n.prepare(o) }),
		step("Make the network namespace "+Namespace, 2*time.Second, func(ctx context.Context) error { return n.enter(ctx, o) }),
		step("Start the control plane", 30*time.Second, func(ctx context.Context) error { return n.startControlPlane(ctx, o) }),
		step("Start containerd and load the pause image", 20*time.Second, func(ctx context.Context) error { return n.startContainerd(ctx, o) }),
		step("Start the kubelet and wait for the node", time.Minute, func(ctx context.Context) error { return n.startKubelet(ctx, o) }),
	)
}

func (n *Node) prepare(o *owner) error {
	if err := n.Paths.create(); err != nil {
		return err
	}
	if err := o.write(); err != nil {
		return err
	}
	if err := n.writeCredentials(); err != nil {
		return err
	}
	return n.writeConfigs()
}

func (n *Node) enter(ctx context.Context, o *owner) error {
	if err := createCgroups(); err != nil {
		return err
	}
	if err := createNetwork(ctx); err != nil {
		return err
	}
	o.NamespaceInode = inode(namespaceFile())
	return o.write()
}

// run starts components and records each before the next.
func (n *Node) run(o *owner, components ...component) error {
	path := n.Binaries.Containerd + ":" + os.Getenv("PATH") + ":/usr/sbin:/sbin"
	for _, c := range components {
		p, err := start(c, n.Paths.log(c.name), path)
		if err != nil {
			return err
		}
		o.Processes = append(o.Processes, p)
		if err := o.write(); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) startControlPlane(ctx context.Context, o *owner) error {
	if err := n.run(o, n.etcd(), n.apiServer()); err != nil {
		return err
	}
	if err := n.wait(ctx, o, "kube-apiserver", 2*time.Minute, n.checkAPI); err != nil {
		return err
	}
	return n.run(o, n.controllerManager(), n.scheduler())
}

func (n *Node) startContainerd(ctx context.Context, o *owner) error {
	if err := n.run(o, n.containerd()); err != nil {
		return err
	}
	if err := n.wait(ctx, o, "containerd", time.Minute, func(ctx context.Context) error {
		_, err := n.Ctr(ctx, "version")
		return err
	}); err != nil {
		return err
	}
	return n.loadPause(ctx)
}

func (n *Node) startKubelet(ctx context.Context, o *owner) error {
	if err := n.run(o, n.kubelet()); err != nil {
		return err
	}
	if err := n.wait(ctx, o, "kubelet", 3*time.Minute, n.checkReady); err != nil {
		return err
	}
	o.Ready = true
	return o.write()
}

// wait polls check until it passes. It ends early when a component has died.
func (n *Node) wait(ctx context.Context, o *owner, of string, limit time.Duration, check func(context.Context) error) error {
	var last error
	met := until(ctx, limit, func() bool {
		for _, p := range o.Processes {
			if !p.alive() {
				of, last = p.Name, fmt.Errorf("%s has ended", p.Name)
				return true
			}
		}
		last = check(ctx)
		return last == nil
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case last != nil && met:
		return progress.SeeLog(last, n.Paths.log(of))
	case last != nil:
		return progress.SeeLog(fmt.Errorf("not ready after %s: %w", limit, last), n.Paths.log(of))
	default:
		return nil
	}
}
