package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/uuid"

	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/service"
)

// topic is a reader of a stage's topic.
type topic struct {
	name   string
	client sarama.Client
}

func openTopic(cluster *kafka.Cluster, name string) (*topic, error) {
	config := cluster.Admin().Config()
	config.ClientID = "relayfleet-bench"
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	client, err := sarama.NewClient(cluster.Addresses(), config)
	if err != nil {
		return nil, fmt.Errorf("open the topic: %w", err)
	}
	return &topic{name, client}, nil
}

func (t *topic) close() { _ = t.client.Close() }

// count is how many records there are.
func (t *topic) count() (int, error) {
	broker, err := t.client.Leader(t.name, 0)
	if err != nil {
		return 0, fmt.Errorf("count records: %w", err)
	}
	request := &sarama.OffsetRequest{Version: 1}
	for p := range int32(partitions) {
		request.AddBlock(t.name, p, sarama.OffsetNewest, 1)
	}
	response, err := broker.GetAvailableOffsets(request)
	if err != nil {
		return 0, fmt.Errorf("count records: %w", err)
	}
	total := 0
	for p := range int32(partitions) {
		block := response.GetBlock(t.name, p)
		if block == nil || !errors.Is(block.Err, sarama.ErrNoError) {
			return 0, fmt.Errorf("count records: no answer about partition %d", p)
		}
		total += int(block.Offset)
	}
	return total, nil
}

// countEvery is seldom: the answers cost the broker processor time, which counts.
const countEvery = 200 * time.Millisecond

// reach waits until there are that many records and returns how many there were
// then, and when that was. A minute without a new one ends the wait.
func (t *topic) reach(ctx context.Context, records int) (int, time.Time, error) {
	last, moved := 0, time.Now()
	for {
		n, err := t.count()
		if err != nil {
			return n, moved, err
		}
		if n != last {
			last, moved = n, time.Now()
		}
		if n >= records {
			return n, time.Now(), nil
		}
		if time.Since(moved) > patience {
			return n, moved, fmt.Errorf("%d of %d events came, and then no more", n, records)
		}
		if err := service.Sleep(ctx, countEvery); err != nil {
			return n, moved, err
		}
	}
}

// arrival is a record that a consumer was given.
type arrival struct {
	event uuid.UUID
	at    time.Time
}

// follow reads all partitions from offset on, which is sarama's oldest or newest,
// until ctx ends; then it closes the channel. It returns when it follows.
func (t *topic) follow(ctx context.Context, offset int64) (<-chan arrival, error) {
	consumer, err := sarama.NewConsumerFromClient(t.client)
	if err != nil {
		return nil, fmt.Errorf("follow the topic: %w", err)
	}
	arrivals := make(chan arrival, 10_000)
	var readers sync.WaitGroup
	for p := range int32(partitions) {
		partition, err := consumer.ConsumePartition(t.name, p, offset)
		if err != nil {
			return nil, fmt.Errorf("follow partition %d: %w", p, err)
		}
		readers.Go(func() { read(ctx, partition, arrivals) })
	}
	go func() {
		readers.Wait()
		_ = consumer.Close()
		close(arrivals)
	}()
	return arrivals, nil
}

func read(ctx context.Context, partition sarama.PartitionConsumer, arrivals chan<- arrival) {
	defer partition.AsyncClose()
	for {
		select {
		case record := <-partition.Messages():
			select {
			case arrivals <- arrival{eventOf(record.Value), time.Now()}:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// eventOf finds the identity with which a payload of package load begins; the
// zero one when there is none.
func eventOf(payload []byte) uuid.UUID {
	const start, length = len(`{"event":"`), 36
	if len(payload) < start+length {
		return uuid.UUID{}
	}
	id, err := uuid.ParseBytes(payload[start : start+length])
	if err != nil {
		return uuid.UUID{}
	}
	return id
}

// check reads everything and fails unless exactly that many events came, each at
// least once.
func (t *topic) check(ctx context.Context, events int) error {
	records, err := t.count()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	arrivals, err := t.follow(ctx, sarama.OffsetOldest)
	if err != nil {
		return err
	}
	seen := make(map[uuid.UUID]bool, events)
	for range records {
		select {
		case a := <-arrivals:
			seen[a.event] = true
		case <-time.After(patience):
			return errors.New("check what was published: the broker gives no more records")
		}
	}
	if seen[uuid.UUID{}] || len(seen) != events {
		return fmt.Errorf("check what was published: %d events of %d came", len(seen), events)
	}
	return nil
}
