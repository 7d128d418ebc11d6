package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

// What the broker said of a topic is believed for so long; a failure to send makes
// it ask at once. It bounds how long added partitions stay unused, and with an
// order of keys for how long two relays may send one key to two partitions.
const (
	metadataAge        = 5 * time.Minute
	orderedMetadataAge = 15 * time.Second
)

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

// topicsNamed returns what is known of the topics, and why nothing is of the
// others. It asks for all of which too little is known at once.
func (s *session) topicsNamed(ctx context.Context, names []string) (map[string]*topic, map[string]error) {
	var unknown []string
	for _, name := range names {
		if s.isOutdated(name) {
			unknown = append(unknown, name)
		}
	}
	failed := s.refresh(ctx, unknown)
	found := map[string]*topic{}
	for _, name := range names {
		if failed[name] == nil {
			found[name] = s.topics[name]
		}
	}
	return found, failed
}

func (s *session) isOutdated(name string) bool {
	t, age := s.topics[name], metadataAge
	if s.config.Ordered {
		age = orderedMetadataAge
	}
	return t == nil || time.Since(t.asked) > age || name == s.config.Topic && s.config.Partitions.contradict(len(t.partitions))
}

// refresh asks the broker for topics, and returns why some are not known now. A
// topic of which some partitions have no leader is good enough: the others can be
// written to.
func (s *session) refresh(ctx context.Context, names []string) map[string]error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		delete(s.topics, name)
	}
	a, err := await(ctx, s, func() (answered, error) { return s.lookUp(names), nil })
	if err != nil {
		a.failed = map[string]error{}
		for _, name := range names {
			a.failed[name] = err
		}
	}
	for name, err := range a.failed {
		a.failed[name] = fmt.Errorf("look up topic %q: %w", name, err)
	}
	s.setLimits(ctx, a.found)
	maps.Copy(s.topics, a.found)
	if t := a.found[s.config.Topic]; t != nil {
		s.config.Partitions.learn(len(t.partitions))
	}
	return a.failed
}

// answered is what a broker said of topics.
type answered struct {
	found  map[string]*topic
	failed map[string]error
}

func (s *session) lookUp(names []string) answered {
	a := answered{map[string]*topic{}, map[string]error{}}
	err := s.client.RefreshMetadata(names...)
	each := byTopic(err)
	for _, name := range names {
		reason := each[name]
		if len(each) == 0 {
			reason = err
		}
		if reason == nil || errors.Is(reason, sarama.ErrLeaderNotAvailable) {
			var t *topic
			if t, reason = s.partitions(name); reason == nil {
				a.found[name] = t
				continue
			}
		}
		a.failed[name] = reason
	}
	return a
}

// byTopic takes apart an answer about several topics. sarama gives each a line
// that begins with its name, and nothing else to tell them by.
func byTopic(err error) map[string]error {
	var several interface{ Unwrap() []error }
	if !errors.As(err, &several) {
		return nil
	}
	each := map[string]error{}
	for _, one := range several.Unwrap() {
		if name, _, found := strings.Cut(one.Error(), ": "); found && isAnswer(one) && isLegalName(name) {
			each[name] = one
		}
	}
	return each
}

// partitions reads what the client has learned of a topic.
func (s *session) partitions(name string) (*topic, error) {
	all, err := s.client.Partitions(name)
	if err != nil {
		return nil, err
	}
	writable, err := s.client.WritablePartitions(name)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, sarama.ErrLeaderNotAvailable
	}
	return &topic{partitions: all, writable: writable, asked: time.Now()}, nil
}

// setLimits needs a grant that few relays have; without it the broker's own
// refusal finds the limit, at the price of some requests.
func (s *session) setLimits(ctx context.Context, topics map[string]*topic) {
	for _, t := range topics {
		t.limit = s.config.MaxMessageBytes
	}
	if s.silent || len(topics) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(topics))
	limits, err := await(ctx, s, func() (map[string]int, error) { return s.askForLimits(names) })
	s.silent = err != nil
	for name, limit := range limits {
		if t := topics[name]; t != nil {
			t.limit = limit
		}
	}
}

// askForLimits fails when no topic tells its limit.
func (s *session) askForLimits(names []string) (map[string]int, error) {
	const setting = "max.message.bytes"
	broker := s.client.LeastLoadedBroker()
	if broker == nil {
		return nil, sarama.ErrOutOfBrokers
	}
	request := &sarama.DescribeConfigsRequest{Version: 2}
	for _, name := range names {
		request.Resources = append(request.Resources, &sarama.ConfigResource{
			Type: sarama.TopicResource, Name: name, ConfigNames: []string{setting},
		})
	}
	response, err := broker.DescribeConfigs(request)
	if err != nil {
		return nil, err
	}
	limits := map[string]int{}
	for _, resource := range response.Resources {
		for _, entry := range resource.Configs {
			if limit, err := strconv.Atoi(entry.Value); entry.Name == setting && err == nil && limit > 0 {
				limits[resource.Name] = limit
			}
		}
	}
	if len(limits) == 0 {
		return nil, errors.New("no topic tells its limit")
	}
	return limits, nil
}

// meetBrokers learns which brokers there are, where no topic is to be asked for.
// The library could only ask for all topics; a name that no topic can have makes
// the broker name the brokers alone.
func (s *session) meetBrokers(ctx context.Context) error {
	_, err := await(ctx, s, func() (struct{}, error) { return struct{}{}, s.client.RefreshMetadata(noTopic) })
	if err != nil && !isAnswer(err) {
		return fmt.Errorf("find the brokers: %w", err)
	}
	return nil
}

const noTopic = "."

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
// its partitions has a leader, and each leader takes connections. Without a topic
// it is enough that a broker gives out a producer id.
func (s *session) check(ctx context.Context, name string) error {
	if name == "" {
		if err := s.meetBrokers(ctx); err != nil {
			return err
		}
		return s.identify(ctx)
	}
	if err := s.refresh(ctx, []string{name})[name]; err != nil {
		return err
	}
	t := s.topics[name]
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
