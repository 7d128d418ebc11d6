package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/IBM/sarama"

	"github.com/relayfleet/relayfleet/hack/service"
)

// Topic says which topic to make.
type Topic struct {
	Name       string
	Partitions int32
	Replicas   int16
	// Config are settings of the topic, such as min.insync.replicas.
	Config map[string]string
}

// Partition is where a partition is.
type Partition struct {
	ID, Leader       int32
	Replicas, InSync []int32
}

// CreateTopic makes a topic and waits until every broker that answers knows a leader for each partition and all its
// replicas in sync, so that whoever asks next is not told that there is no such topic.
func (c Cluster) CreateTopic(ctx context.Context, topic Topic) error {
	detail := sarama.TopicDetail{NumPartitions: topic.Partitions, ReplicationFactor: topic.Replicas, ConfigEntries: map[string]*string{}}
	for name, value := range topic.Config {
		detail.ConfigEntries[name] = &value
	}
	err := c.withAdmin(func(admin sarama.ClusterAdmin) error { return admin.CreateTopic(topic.Name, &detail, false) })
	if err != nil {
		return fmt.Errorf("create topic %s: %w", topic.Name, err)
	}
	err = c.everywhere(ctx, func(address string) error {
		partitions, err := c.describeAt(address, topic.Name)
		if err == nil && !complete(partitions, topic) {
			return fmt.Errorf("a partition lacks its leader or a replica: %w", sarama.ErrLeaderNotAvailable)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("create topic %s: it was made, but: %w", topic.Name, err)
	}
	return nil
}

func complete(partitions []Partition, topic Topic) bool {
	for _, partition := range partitions {
		if partition.Leader < 0 || len(partition.InSync) < int(topic.Replicas) {
			return false
		}
	}
	return len(partitions) == int(topic.Partitions)
}

// AddPartitions raises the number of a topic's partitions to count and waits until every broker that answers knows a
// leader for each.
func (c Cluster) AddPartitions(ctx context.Context, name string, count int32) error {
	err := c.withAdmin(func(admin sarama.ClusterAdmin) error { return admin.CreatePartitions(name, count, nil, false) })
	if err != nil {
		return fmt.Errorf("add partitions to topic %s: %w", name, err)
	}
	err = c.everywhere(ctx, func(address string) error {
		partitions, err := c.describeAt(address, name)
		if err == nil && !complete(partitions, Topic{Partitions: count}) {
			return fmt.Errorf("a new partition lacks its leader: %w", sarama.ErrLeaderNotAvailable)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("add partitions to topic %s: it was done, but: %w", name, err)
	}
	return nil
}

// DeleteTopic deletes a topic and waits until no broker knows it; one that is not there is an error.
func (c Cluster) DeleteTopic(ctx context.Context, name string) error {
	if err := c.withAdmin(func(admin sarama.ClusterAdmin) error { return admin.DeleteTopic(name) }); err != nil {
		return fmt.Errorf("delete topic %s: %w", name, err)
	}
	err := c.everywhere(ctx, func(address string) error {
		_, err := c.describeAt(address, name)
		if err == nil {
			return fmt.Errorf("it is still listed: %w", sarama.ErrTopicAlreadyExists)
		}
		if errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete topic %s: it was accepted, but: %w", name, err)
	}
	return nil
}

// DescribeTopic returns the partitions in order, as the first broker that answers knows them. The error is
// sarama.ErrUnknownTopicOrPartition if there is no such topic.
func (c Cluster) DescribeTopic(name string) ([]Partition, error) {
	var errs []error
	for _, address := range c.Addresses {
		partitions, err := c.describeAt(address, name)
		if !unreachable(err) {
			return partitions, err
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// ConfigureTopic changes settings of a topic that exists; an empty value puts one back to its default.
func (c Cluster) ConfigureTopic(name string, config map[string]string) error {
	entries := map[string]sarama.IncrementalAlterConfigsEntry{}
	for key, value := range config {
		entry := sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}
		if value == "" {
			entry = sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationDelete}
		}
		entries[key] = entry
	}
	err := c.withAdmin(func(admin sarama.ClusterAdmin) error {
		return admin.IncrementalAlterConfig(sarama.TopicResource, name, entries, false)
	})
	if err != nil {
		return fmt.Errorf("configure topic %s: %w", name, err)
	}
	return nil
}

// everywhere repeats check for each broker until it succeeds for all that can be reached.
func (c Cluster) everywhere(ctx context.Context, check func(address string) error) error {
	for _, address := range c.Addresses {
		for {
			err := check(address)
			if err == nil || unreachable(err) {
				break
			}
			if sleepErr := service.Sleep(ctx, 50*time.Millisecond); sleepErr != nil {
				return fmt.Errorf("broker %s: %w (%w)", address, err, sleepErr)
			}
		}
	}
	return nil
}

// unreachable tells whether a broker gave no answer at all, as a stopped one does.
func unreachable(err error) bool {
	var answer sarama.KError
	return err != nil && !errors.As(err, &answer)
}

func (c Cluster) describeAt(address, name string) ([]Partition, error) {
	broker, err := c.open(address)
	if err != nil {
		return nil, err
	}
	defer broker.Close()
	metadata, err := broker.GetMetadata(sarama.NewMetadataRequest(protocol, []string{name}))
	if err != nil {
		return nil, fmt.Errorf("ask broker %s: %w", address, err)
	}
	if len(metadata.Topics) != 1 {
		return nil, fmt.Errorf("ask broker %s: %d topics in the answer about one", address, len(metadata.Topics))
	}
	topic := metadata.Topics[0]
	if topic.Err != sarama.ErrNoError {
		return nil, fmt.Errorf("topic %s: %w", name, topic.Err)
	}
	partitions := make([]Partition, 0, len(topic.Partitions))
	for _, p := range topic.Partitions {
		partitions = append(partitions, Partition{ID: p.ID, Leader: p.Leader, Replicas: p.Replicas, InSync: p.Isr})
	}
	slices.SortFunc(partitions, func(a, b Partition) int { return int(a.ID - b.ID) })
	return partitions, nil
}

func (c Cluster) withAdmin(do func(sarama.ClusterAdmin) error) error {
	admin, err := sarama.NewClusterAdmin(c.Addresses, c.Config())
	if err != nil {
		return fmt.Errorf("connect to the brokers: %w", err)
	}
	defer admin.Close()
	return do(admin)
}
