package load

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/relay/publish"
)

//go:embed receive.sql
var receiveSQL string

// Consumer writes a receipt for every record of a topic, from the oldest on. It
// goes on where the receipts end, so it may be stopped and started again. Only
// one at a time may run per table.
type Consumer struct {
	tables  Tables
	cluster admin.Cluster
	topic   string

	deliveries, duplicates, misnamed atomic.Int64
}

// Consumed counts what a Consumer has received since it was made.
type Consumed struct {
	// Deliveries counts records, Duplicates those whose event had come before,
	// Misnamed those whose header does not name the event in the payload.
	Deliveries, Duplicates, Misnamed int64
}

const (
	flushEvery   = 100 * time.Millisecond
	flushRecords = 5000
	// lastFlush bounds the flush after the consumer was stopped.
	lastFlush = 10 * time.Second
	// retryWait is how long an unreachable broker or database is left alone.
	retryWait = 200 * time.Millisecond
	// partitionsEvery is how often new partitions are looked for.
	partitionsEvery = 2 * time.Second
)

// NewConsumer makes a consumer of one topic.
func NewConsumer(tables Tables, cluster admin.Cluster, topic string) *Consumer {
	return &Consumer{tables: tables, cluster: cluster, topic: topic}
}

// Consumed counts what was received and written down so far.
func (c *Consumer) Consumed() Consumed {
	return Consumed{Deliveries: c.deliveries.Load(), Duplicates: c.duplicates.Load(), Misnamed: c.misnamed.Load()}
}

// Run consumes until ctx ends, which is no error. Outages of broker and database
// are waited for.
func (c *Consumer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := c.session(ctx)
		if err != nil && !errors.Is(err, errTryAgain) && ctx.Err() == nil {
			return err
		}
		_ = sleep(ctx, retryWait) // Ends with ctx, which the loop asks.
	}
	return nil
}

// errTryAgain: the session has ended because of something that may pass.
var errTryAgain = errors.New("try again")

// session consumes with one client until ctx ends or a partition has to be
// opened anew.
func (c *Consumer) session(ctx context.Context) error {
	client, err := sarama.NewClient(c.cluster.Addresses, c.config())
	if err != nil {
		return errTryAgain
	}
	defer client.Close()
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &reading{c: c, client: client, consumer: consumer, cancel: cancel, records: make(chan *sarama.ConsumerMessage, flushRecords)}
	opened := make(chan error, 1)
	go func() { opened <- r.follow(ctx) }()
	err = c.collect(ctx, r.records)
	cancel()
	return errors.Join(err, <-opened)
}

func (c *Consumer) config() *sarama.Config {
	config := c.cluster.Config()
	config.ClientID = "relayfleet-load"
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Retry.Backoff = retryWait
	config.Metadata.RefreshFrequency = 0
	config.Metadata.AllowAutoTopicCreation = false
	return config
}

// collect writes records down until ctx ends; what has come by then, too.
func (c *Consumer) collect(ctx context.Context, records <-chan *sarama.ConsumerMessage) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var waiting []*sarama.ConsumerMessage
	for {
		select {
		case record := <-records:
			if waiting = append(waiting, record); len(waiting) < flushRecords {
				continue
			}
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			return c.flush(last, waiting)
		}
		if err := c.flush(ctx, waiting); err != nil {
			return err
		}
		waiting = waiting[:0]
	}
}

// flush writes records down. A failure ends the session: whether it was written
// or not, the next one begins where the database says.
func (c *Consumer) flush(ctx context.Context, records []*sarama.ConsumerMessage) error {
	if len(records) == 0 {
		return nil
	}
	var (
		ids        = make([][16]byte, 0, len(records))
		partitions = make([]int32, 0, len(records))
		offsets    = make([]int64, 0, len(records))
		times      = make([]time.Time, 0, len(records))
		misnamed   [][]any
	)
	for _, record := range records {
		header, inPayload := identityHeader(record), payloadID(record.Value)
		id, err := uuid.Parse(header)
		if err != nil || header != inPayload {
			misnamed = append(misnamed, []any{header, inPayload, record.Partition, record.Offset})
		}
		ids, partitions = append(ids, id), append(partitions, record.Partition)
		offsets, times = append(offsets, record.Offset), append(times, record.Timestamp)
	}
	duplicates, err := c.write(ctx, misnamed, c.topic, ids, partitions, offsets, times)
	if err != nil {
		return errors.Join(errTryAgain, err)
	}
	c.deliveries.Add(int64(len(records)))
	c.duplicates.Add(duplicates)
	c.misnamed.Add(int64(len(misnamed)))
	return nil
}

func (c *Consumer) write(ctx context.Context, misnamed [][]any, args ...any) (duplicates int64, err error) {
	err = pgx.BeginFunc(ctx, c.tables.pool, func(tx pgx.Tx) error {
		if len(misnamed) > 0 {
			table := pgx.Identifier{c.tables.outbox.Schema, "misnamed"}
			columns := []string{"header", "payload", "partition", "offset"}
			if _, err := tx.CopyFrom(ctx, table, columns, pgx.CopyFromRows(misnamed)); err != nil {
				return err
			}
		}
		return tx.QueryRow(ctx, c.tables.sql(receiveSQL), args...).Scan(&duplicates)
	})
	if err != nil {
		return 0, fmt.Errorf("write receipts: %w", err)
	}
	return duplicates, nil
}

// next is where each partition is to be read on.
func (c *Consumer) next(ctx context.Context) (map[int32]int64, error) {
	rows, err := c.tables.pool.Query(ctx,
		c.tables.sql("SELECT partition, next_offset FROM /*schema*/public.consumed WHERE topic = $1"), c.topic)
	if err != nil {
		return nil, fmt.Errorf("read the consumer's progress: %w", err)
	}
	next := map[int32]int64{}
	var partition int32
	var offset int64
	_, err = pgx.ForEachRow(rows, []any{&partition, &offset}, func() error {
		next[partition] = offset
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the consumer's progress: %w", err)
	}
	return next, nil
}

func identityHeader(record *sarama.ConsumerMessage) string {
	for _, h := range record.Headers {
		if string(h.Key) == publish.EventIDHeader {
			return string(h.Value)
		}
	}
	return ""
}
