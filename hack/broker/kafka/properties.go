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

// Each broker takes three ports in a row: for clients on the host, for the controllers among themselves, and for pods.
// Further listeners follow. Kafka refuses two listeners on one port even where their addresses differ.
const ownPorts = 3

func (o Options) portsPerBroker() int { return ownPorts + len(o.Listeners) }

func (c *Cluster) hostPort(broker int) int {
	return c.state.Options.Port + c.state.Options.portsPerBroker()*broker
}
func (c *Cluster) controllerPort(broker int) int { return c.hostPort(broker) + 1 }
func (c *Cluster) podPort(broker int) int        { return c.hostPort(broker) + 2 }

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
	for _, l := range o.Listeners {
		maps.Copy(p, c.settings(l))
	}
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
	clients := []string{"HOST://" + c.hostAddress(broker)}
	if c.state.Options.Netns != "" {
		clients = append(clients, "PODS://"+c.podAddress(broker))
	}
	protocols := []string{"HOST:PLAINTEXT", "PODS:PLAINTEXT", "CONTROLLER:PLAINTEXT"}
	for i, l := range c.state.Options.Listeners {
		clients = append(clients, l.Name+"://"+c.listenerAddress(broker, i))
		protocols = append(protocols, l.Name+":"+l.protocol())
	}
	controller := fmt.Sprintf("CONTROLLER://%s:%d", service.Loopback, c.controllerPort(broker))
	return map[string]string{
		"listeners":                      strings.Join(append(slices.Clone(clients), controller), ","),
		"advertised.listeners":           strings.Join(clients, ","),
		"inter.broker.listener.name":     "HOST",
		"listener.security.protocol.map": strings.Join(protocols, ","),
	}
}

func (c *Cluster) hostAddress(broker int) string {
	return net.JoinHostPort(service.HostAddress(c.state.Options.Netns), strconv.Itoa(c.hostPort(broker)))
}

func (c *Cluster) podAddress(broker int) string {
	return net.JoinHostPort(service.PodAddress, strconv.Itoa(c.podPort(broker)))
}

func (c *Cluster) each(address func(broker int) string) []string {
	var list []string
	for broker := range c.state.Options.Count {
		list = append(list, address(broker))
	}
	return list
}
