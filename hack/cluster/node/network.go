package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// createNetwork makes the namespace, the link to it and the pods' bridge. The
// bridge plugin would make the bridge with the first pod, but a database or
// broker in the namespace wants its address before.
func createNetwork(ctx context.Context) error {
	if err := checkAddressFree(ctx); err != nil {
		return err
	}
	in := "-n " + Namespace + " "
	for _, line := range []string{
		"netns add " + Namespace,
		"link add " + hostLink + " type veth peer name " + nodeLink + " netns " + Namespace,
		"addr add " + HostAddress + linkPrefix + " dev " + hostLink,
		"link set " + hostLink + " up",
		in + "link set lo up",
		in + "addr add " + serviceAddress + "/32 dev lo",
		in + "addr add " + Address + linkPrefix + " dev " + nodeLink,
		in + "link set " + nodeLink + " up",
		in + "route add default via " + HostAddress,
		in + "link add " + bridge + " type bridge",
		in + "addr add " + BridgeAddress + "/24 dev " + bridge,
		in + "link set " + bridge + " up",
	} {
		if err := ip(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

// checkAddressFree refuses to shadow an address that the host already uses.
func checkAddressFree(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "ip", "-o", "addr", "show", "to", HostAddress+linkPrefix).Output()
	if err != nil {
		return fmt.Errorf("list the host's addresses: %w", err)
	}
	if used := strings.TrimSpace(string(out)); used != "" {
		return fmt.Errorf("the host uses addresses of %s%s already, which the node needs: %s", HostAddress, linkPrefix, used)
	}
	return nil
}

// removeNetwork deletes the namespace with all that is in it, and what `ip
// netns add` left on a machine that had no namespaces before.
func removeNetwork(ctx context.Context) error {
	var failed []error
	if exists(namespaceFile()) {
		failed = append(failed, ip(ctx, "netns del "+Namespace))
	}
	if exists("/sys/class/net/" + hostLink) {
		failed = append(failed, ip(ctx, "link del "+hostLink))
	}
	if entries, err := os.ReadDir("/run/netns"); err == nil && len(entries) == 0 {
		failed = append(failed, unmountAll("/run/netns"), os.Remove("/run/netns"))
	}
	return errors.Join(failed...)
}

func ip(ctx context.Context, line string) error {
	out, err := exec.CommandContext(ctx, "ip", strings.Fields(line)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", line, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
