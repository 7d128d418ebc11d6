package load

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/IBM/sarama"
)

// reading is one session's way from the partitions to one channel.
type reading struct {
	c        *Consumer
	client   sarama.Client
	consumer sarama.Consumer
	records  chan *sarama.ConsumerMessage
	// cancel ends the session.
	cancel context.CancelFunc
}

// follow opens every partition, and those that are added later, and reads them
// until ctx ends. It returns when the last reader has ended.
func (r *reading) follow(ctx context.Context) error {
	defer r.cancel()
	var readers sync.WaitGroup
	defer readers.Wait()
	next, err := r.c.next(ctx)
	if err != nil {
		return errors.Join(errTryAgain, err)
	}
	opened := map[int32]bool{}
	for {
		if err := r.client.RefreshMetadata(r.c.topic); err == nil {
			if err := r.open(ctx, next, opened, &readers); err != nil {
				r.cancel()
				return err
			}
		}
		wait := partitionsEvery
		if len(opened) == 0 {
			wait = retryWait
		}
		if sleep(ctx, wait) != nil {
			return nil
		}
	}
}

func (r *reading) open(ctx context.Context, next map[int32]int64, opened map[int32]bool, readers *sync.WaitGroup) error {
	partitions, err := r.client.Partitions(r.c.topic)
	if err != nil {
		return nil //nolint:nilerr // The topic may come later.
	}
	for _, id := range partitions {
		if opened[id] {
			continue
		}
		partition, err := r.partition(id, next)
		if err != nil {
			return errors.Join(errTryAgain, err)
		}
		opened[id] = true
		readers.Go(func() { r.read(ctx, partition) })
	}
	return nil
}

// partition opens one where the receipts end, or at its beginning. An offset
// that the partition does not have belongs to a topic that was deleted.
func (r *reading) partition(id int32, next map[int32]int64) (sarama.PartitionConsumer, error) {
	offset, known := next[id]
	if !known {
		offset = sarama.OffsetOldest
	}
	partition, err := r.consumer.ConsumePartition(r.c.topic, id, offset)
	if errors.Is(err, sarama.ErrOffsetOutOfRange) {
		partition, err = r.consumer.ConsumePartition(r.c.topic, id, sarama.OffsetOldest)
	}
	if err != nil {
		return nil, fmt.Errorf("open partition %d: %w", id, err)
	}
	return partition, nil
}

// read passes records on until ctx ends. The library waits for a broker that is
// away; a partition that it gives up ends the session.
func (r *reading) read(ctx context.Context, partition sarama.PartitionConsumer) {
	defer partition.AsyncClose()
	for {
		select {
		case record, more := <-partition.Messages():
			if !more {
				r.cancel()
				return
			}
			select {
			case r.records <- record:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
