package publish

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

// metadataAge is how long what the broker said of a topic is believed; a failure
// to send makes it ask at once. It bounds how long added partitions stay unused.
const metadataAge = 5 * time.Minute

// legalName is Kafka's rule for the names of topics. A broker is not even asked
// for another one, which could be of any length.
var legalName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

func isLegalName(topic string) bool {
	return legalName.MatchString(topic) && topic != "." && topic != ".."
}

// topic is what the broker says of a topic.
type topic struct {
	// partitions are all, in ascending order: a key counts them.
	partitions []int32
	// writable are those that had a leader.
	writable []int32
	// limit is the largest record batch that it takes, in bytes.
	limit int
	asked time.Time
}

// topic returns what is known of a topic, and asks when that is too little.
func (s *session) topic(ctx context.Context, name string) (*topic, error) {
	if t := s.topics[name]; t != nil && time.Since(t.asked) < metadataAge {
		return t, nil
	}
	return s.refresh(ctx, name)
}

// refresh asks the broker for a topic. A topic of which some partitions have no
// leader is good enough: the others can be written to.
func (s *session) refresh(ctx context.Context, name string) (*topic, error) {
	delete(s.topics, name)
	t, err := await(ctx, s, func() (*topic, error) { return s.lookUp(name) })
	if err != nil {
		return nil, fmt.Errorf("look up topic %q: %w", name, err)
	}
	if t.limit = s.config.MaxMessageBytes; !s.silent {
		limit, err := await(ctx, s, func() (int, error) { return s.askForLimit(name) })
		if s.silent = err != nil; err == nil {
			t.limit = limit
		}
	}
	s.topics[name] = t
	return t, nil
}

func (s *session) lookUp(name string) (*topic, error) {
	err := s.client.RefreshMetadata(name)
	if err != nil && !errors.Is(err, sarama.ErrLeaderNotAvailable) {
		return nil, err
	}
	partitions, err := s.client.Partitions(name)
	if err != nil {
		return nil, err
	}
	writable, err := s.client.WritablePartitions(name)
	if err != nil {
		return nil, err
	}
	if len(partitions) == 0 {
		return nil, sarama.ErrLeaderNotAvailable
	}
	return &topic{partitions: partitions, writable: writable, asked: time.Now()}, nil
}

// askForLimit needs a grant that few relays have; without it the broker's own
// refusal finds the limit, at the price of some requests.
func (s *session) askForLimit(name string) (int, error) {
	const setting = "max.message.bytes"
	broker := s.client.LeastLoadedBroker()
	if broker == nil {
		return 0, sarama.ErrOutOfBrokers
	}
	response, err := broker.DescribeConfigs(&sarama.DescribeConfigsRequest{
		Version:   2,
		Resources: []*sarama.ConfigResource{{Type: sarama.TopicResource, Name: name, ConfigNames: []string{setting}}},
	})
	if err != nil {
		return 0, err
	}
	for _, resource := range response.Resources {
		for _, entry := range resource.Configs {
			if entry.Name != setting {
				continue
			}
			if limit, err := strconv.Atoi(entry.Value); err == nil && limit > 0 {
				return limit, nil
			}
		}
	}
	return 0, errors.New("the topic does not tell its limit")
}

// leaders finds the leader of each target, and why there is none.
func (s *session) leaders(ctx context.Context, targets []target) ([]*sarama.Broker, []error, error) {
	type found struct {
		brokers []*sarama.Broker
		errs    []error
	}
	f, err := await(ctx, s, func() (found, error) {
		f := found{make([]*sarama.Broker, len(targets)), make([]error, len(targets))}
		for i, t := range targets {
			f.brokers[i], f.errs[i] = s.client.Leader(t.topic, t.partition)
		}
		return f, nil
	})
	return f.brokers, f.errs, err
}

// check answers whether the topic could be written to now: it is there, each of
// its partitions has a leader, and each leader takes connections.
func (s *session) check(ctx context.Context, name string) error {
	t, err := s.refresh(ctx, name)
	if err != nil {
		return err
	}
	targets := make([]target, len(t.partitions))
	for i, partition := range t.partitions {
		targets[i] = target{name, partition}
	}
	brokers, errs, err := s.leaders(ctx, targets)
	if err := errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("find the leaders of topic %q: %w", name, err)
	}
	_, err = await(ctx, s, func() (struct{}, error) { return struct{}{}, connect(brokers) })
	if err != nil {
		return fmt.Errorf("connect to the leaders of topic %q: %w", name, err)
	}
	return nil
}

func connect(brokers []*sarama.Broker) error {
	for _, broker := range brokers {
		if err := connected(broker); err != nil {
			return err
		}
	}
	return nil
}

// connected waits until a connection that is being made is there.
func connected(broker *sarama.Broker) error {
	ok, err := broker.Connected()
	if err == nil && !ok {
		err = sarama.ErrNotConnected
	}
	if err != nil {
		return unsentError{fmt.Errorf("connect to %s: %w", broker.Addr(), err)}
	}
	return nil
}
