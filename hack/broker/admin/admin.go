// Package admin asks a Kafka cluster, real or embedded, whether it is ready, and manages its topics.
package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	"github.com/relayfleet/relayfleet/hack/service"
)

// protocol is the oldest version of Kafka that is supported.
var protocol = sarama.V3_9_0_0

// Cluster says how a cluster is reached.
type Cluster struct {
	// Addresses are those of the brokers, numeric host and port.
	Addresses []string
	// Netns is the network namespace from which they are reached; empty means the caller's.
	Netns string
	// Configure changes the client's configuration, for TLS or a login; nil leaves it.
	Configure func(*sarama.Config)
}

// Config is a client configuration for this cluster. Its patience is short: callers retry by the clock.
func (c Cluster) Config() *sarama.Config {
	config := sarama.NewConfig()
	config.ClientID = "relayfleet-hack"
	config.Version = protocol
	config.Net.DialTimeout = 2 * time.Second
	config.Net.ReadTimeout = 10 * time.Second
	config.Metadata.Retry.Max = 0
	if c.Netns != "" {
		config.Net.Proxy.Enable = true
		config.Net.Proxy.Dialer = service.Dialer{Netns: c.Netns}
	}
	if c.Configure != nil {
		c.Configure(config)
	}
	return config
}

// WaitUntilUsable waits until count brokers are members of the cluster and each of those addressed gives out producer
// ids. A broker that has just started answers metadata requests seconds before it does that. stopped is asked between
// tries and ends the wait early with its error.
func (c Cluster) WaitUntilUsable(ctx context.Context, count int, stopped func() error) error {
	for {
		err := c.check(count)
		if err == nil {
			return nil
		}
		if stopErr := stopped(); stopErr != nil {
			return stopErr
		}
		if service.Sleep(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("not usable yet: %w", err)
		}
	}
}

func (c Cluster) check(count int) error {
	for _, address := range c.Addresses {
		if err := c.checkBroker(address, count); err != nil {
			return fmt.Errorf("broker %s: %w", address, err)
		}
	}
	return nil
}

func (c Cluster) checkBroker(address string, count int) error {
	broker, err := c.open(address)
	if err != nil {
		return err
	}
	defer broker.Close()
	metadata, err := broker.GetMetadata(sarama.NewMetadataRequest(protocol, nil))
	if err != nil {
		return err
	}
	if len(metadata.Brokers) < count {
		return fmt.Errorf("it knows %d of %d brokers", len(metadata.Brokers), count)
	}
	ids, err := broker.InitProducerID(&sarama.InitProducerIDRequest{Version: 4, ProducerID: -1, ProducerEpoch: -1})
	if err != nil {
		return err
	}
	if ids.Err != sarama.ErrNoError {
		return ids.Err
	}
	return nil
}

// open connects to one broker. A connection that fails shows with the first request.
func (c Cluster) open(address string) (*sarama.Broker, error) {
	broker := sarama.NewBroker(address)
	if err := broker.Open(c.Config()); err != nil {
		return nil, fmt.Errorf("connect to broker %s: %w", address, err)
	}
	return broker, nil
}
