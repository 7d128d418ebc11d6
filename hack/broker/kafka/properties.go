package kafka

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/relayfleet/relayfleet/hack/service"
)

// Each broker takes two ports in a row: for clients, and for the controllers among themselves.
const portsPerBroker = 2

func (c *Cluster) clientPort(broker int) int     { return c.state.Options.Port + portsPerBroker*broker }
func (c *Cluster) controllerPort(broker int) int { return c.clientPort(broker) + 1 }

// properties is the server.properties of one broker, which is a controller too.
func (c *Cluster) properties(broker int) string {
	o := c.state.Options
	replicas := strconv.Itoa(min(o.Count, 3))
	p := map[string]string{
		"process.roles":             "broker,controller",
		"node.id":                   strconv.Itoa(broker + 1),
		"controller.quorum.voters":  c.voters(),
		"controller.listener.names": "CONTROLLER",
		"log.dirs":                  c.instance.Path("data-" + strconv.Itoa(broker)),

		"offsets.topic.replication.factor":         replicas,
		"offsets.topic.num.partitions":             "3",
		"transaction.state.log.replication.factor": replicas,
		"transaction.state.log.num.partitions":     "3",
		"transaction.state.log.min.isr":            "1",
		"group.initial.rebalance.delay.ms":         "0",
		// A topic that nobody made is a mistake to be seen, not to be mended silently.
		"auto.create.topics.enable": "false",
	}
	maps.Copy(p, c.listeners(broker))
	maps.Copy(p, o.Settings)
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&text, "%s=%s\n", key, p[key])
	}
	return text.String()
}

func (c *Cluster) voters() string {
	var voters []string
	for broker := range c.state.Options.Count {
		voters = append(voters, fmt.Sprintf("%d@%s:%d", broker+1, service.Loopback, c.controllerPort(broker)))
	}
	return strings.Join(voters, ",")
}

// listeners has one for the host and, in the node's namespace, one for pods: each is told the address it can reach.
func (c *Cluster) listeners(broker int) map[string]string {
	o := c.state.Options
	clients := []string{"HOST://" + c.address(service.HostAddress(o.Netns), broker)}
	if o.Netns != "" {
		clients = append(clients, "PODS://"+c.address(service.PodAddress, broker))
	}
	controller := fmt.Sprintf("CONTROLLER://%s:%d", service.Loopback, c.controllerPort(broker))
	return map[string]string{
		"listeners":                      strings.Join(append(slices.Clone(clients), controller), ","),
		"advertised.listeners":           strings.Join(clients, ","),
		"inter.broker.listener.name":     "HOST",
		"listener.security.protocol.map": "HOST:PLAINTEXT,PODS:PLAINTEXT,CONTROLLER:PLAINTEXT",
	}
}

func (c *Cluster) address(host string, broker int) string {
	return net.JoinHostPort(host, strconv.Itoa(c.clientPort(broker)))
}

func (c *Cluster) addresses(host string) []string {
	var list []string
	for broker := range c.state.Options.Count {
		list = append(list, c.address(host, broker))
	}
	return list
}
