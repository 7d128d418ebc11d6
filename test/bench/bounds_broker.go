package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/uuid"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/publish"
)

// producers measures the bound that the broker sets: the same events, from
// memory.
func (b *bench) producers(ctx context.Context) error {
	const own, library = "producer alone", "sarama's AsyncProducer alone"
	err := b.repeat(ctx, own, func() (result, error) { return b.produce(ctx, own, publishAll) })
	if err != nil {
		return err
	}
	return b.repeat(ctx, library, func() (result, error) { return b.produce(ctx, library, produceAll) })
}

// warmBroker gives the broker's virtual machine a thousand requests to compile
// itself by: before them it uses four times the processor time per event, and
// whoever came first would pay for it.
func (b *bench) warmBroker(ctx context.Context) error {
	return b.steps.Do("warm the broker", 10*time.Second, func() (err error) {
		s, err := b.brokerStage(ctx)
		if err != nil {
			return err
		}
		defer b.clear(ctx, s, &err)
		return publishAll(ctx, s, eventsInMemory(1000*batchSize))
	})
}

func (b *bench) produce(ctx context.Context, name string, send func(context.Context, *stage, []event.Event) error) (r result, err error) {
	s, err := b.brokerStage(ctx)
	if err != nil {
		return r, err
	}
	defer b.clear(ctx, s, &err)
	events := eventsInMemory(b.events)
	before, err := s.used(ownTime)
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := send(ctx, s, events); err != nil {
		return r, err
	}
	took := time.Since(began)
	after, err := s.used(ownTime)
	return newResult(name, b.events, float64(b.events)/took.Seconds(), after.since(before)), err
}

func eventsInMemory(count int) []event.Event {
	ids, names, payloads := newEvents(0, count)
	events := make([]event.Event, count)
	for i := range events {
		events[i] = event.Event{ID: uuid.UUID(ids[i]).String(), Key: []byte(names[i]), Payload: payloads[i], Generation: 1, CreatedAt: time.Now()}
	}
	return events
}

// publishAll sends batches as a slot of the relay does, one after another.
func publishAll(ctx context.Context, s *stage, events []event.Event) error {
	producer, err := publish.New(publish.Config{Servers: s.cluster.Addresses(), Topic: s.topic})
	if err != nil {
		return err
	}
	defer producer.Close()
	for batch := range slices.Chunk(events, batchSize) {
		outcomes, err := producer.Publish(ctx, event.Batch{Events: batch}, event.NewDeadline(time.Now().Add(lease)))
		if err != nil {
			return err
		}
		for _, outcome := range outcomes {
			if outcome.Kind != event.Published {
				return fmt.Errorf("an event was not published: %s", outcome.Reason)
			}
		}
	}
	return nil
}

// produceAll sends with what most programs in Go use, set to be as safe: acks
// from all, idempotent, with the partitions of Java's clients.
func produceAll(_ context.Context, s *stage, events []event.Event) error {
	config := s.cluster.Admin().Config()
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	config.Producer.Compression = sarama.CompressionLZ4
	config.Producer.Partitioner = sarama.NewMurmur2Partitioner
	config.Producer.Flush.Frequency = 2 * time.Millisecond
	config.Producer.Return.Successes = true
	producer, err := sarama.NewAsyncProducer(s.cluster.Addresses(), config)
	if err != nil {
		return fmt.Errorf("open a producer: %w", err)
	}
	defer producer.Close()
	go func() {
		for i := range events {
			producer.Input() <- &sarama.ProducerMessage{
				Topic: s.topic, Key: sarama.ByteEncoder(events[i].Key), Value: sarama.ByteEncoder(events[i].Payload),
				Headers: []sarama.RecordHeader{{Key: []byte("event-id"), Value: []byte(events[i].ID)}},
			}
		}
	}()
	for range events {
		select {
		case <-producer.Successes():
		case err := <-producer.Errors():
			return fmt.Errorf("produce: %w", err)
		}
	}
	return nil
}
