// Command watermill moves messages from watermill's table in PostgreSQL to Kafka,
// for test/bench to measure:
//
//	watermill init URL                 makes the table "watermill_outbox"
//	watermill move URL BROKER TOPIC    moves until it is ended
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
)

const table = "outbox"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "init":
		return initialize(ctx, args[1])
	case len(args) == 4 && args[0] == "move":
		return move(ctx, args[1], args[2], args[3])
	default:
		return errors.New("usage: init URL, or move URL BROKER TOPIC")
	}
}

func initialize(ctx context.Context, url string) error {
	subscriber, pool, err := newSubscriber(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	return subscriber.SubscribeInitialize(table)
}

// newSubscriber is tuned: large reads, and polls as short as the relay's.
func newSubscriber(ctx context.Context, url string) (*sql.Subscriber, *pgxpool.Pool, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	subscriber, err := sql.NewSubscriber(sql.BeginnerFromPgx(pool), sql.SubscriberConfig{
		PollInterval: 5 * time.Millisecond,
		SchemaAdapter: sql.DefaultPostgreSQLSchema{
			SubscribeBatchSize:  500,
			GeneratePayloadType: func(string) string { return "BYTEA" },
		},
		OffsetsAdapter: sql.DefaultPostgreSQLOffsetsAdapter{},
	}, watermill.NopLogger{})
	return subscriber, pool, err
}

func newPublisher(broker string) (*kafka.Publisher, error) {
	config := kafka.DefaultSaramaSyncPublisherConfig()
	config.Version = sarama.V3_9_0_0
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	config.Producer.Compression = sarama.CompressionLZ4
	return kafka.NewPublisher(kafka.PublisherConfig{
		Brokers: []string{broker}, OverwriteSaramaConfig: config,
		Marshaler: kafka.NewWithPartitioningMarshaler(func(_ string, m *message.Message) (string, error) {
			return m.Metadata.Get("key"), nil
		}),
	}, watermill.NopLogger{})
}

func move(ctx context.Context, url, broker, topic string) error {
	subscriber, pool, err := newSubscriber(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	publisher, err := newPublisher(broker)
	if err != nil {
		return err
	}
	defer publisher.Close()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	router.AddHandler("move", table, subscriber, topic, publisher, message.PassthroughHandler)
	return router.Run(ctx)
}
