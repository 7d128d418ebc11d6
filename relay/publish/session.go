package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

var errNoAnswer = errors.New("no answer in time")

// session is everything that ends together when an outcome stays unknown: the
// connections, what they have told of the cluster, the producer id and its
// sequence numbers. One goroutine at a time uses it; what may block runs beside
// it and touches nothing but sarama's client, which has locks of its own.
type session struct {
	config  Config
	login   *login
	gate    *gate
	client  sarama.Client
	helpers *sync.WaitGroup

	id identity
	// next is the sequence number of the next record, by partition.
	next map[target]int32
	// topics is what the broker said of them last.
	topics map[string]*topic
	// throttled is the producer's.
	throttled map[int32]time.Time
	// silent: the broker does not tell the settings of topics.
	silent bool
}

// identity is a producer id with its epoch.
type identity struct {
	id    int64
	epoch int16
}

// target is a partition.
type target struct {
	topic     string
	partition int32
}

// newSession connects nothing yet.
func newSession(c Config, l *login, helpers *sync.WaitGroup) (*session, error) {
	g := newGate(c.RequestTimeout, l.tls)
	client, err := sarama.NewClient(c.Servers, c.sarama(g, l))
	if err != nil {
		return nil, err
	}
	return &session{
		config: c, login: l, gate: g, client: client, helpers: helpers,
		topics: map[string]*topic{},
	}, nil
}

// begin learns which brokers there are. What they say of the fleet's topic is
// nobody's concern yet.
func (s *session) begin(ctx context.Context) error {
	if s.config.Topic == "" {
		return s.meetBrokers(ctx)
	}
	if err := s.refresh(ctx, []string{s.config.Topic})[s.config.Topic]; err != nil && !isAnswer(err) {
		return err
	}
	return nil
}

// close ends the session at once. Closing the client may wait for locks that a
// call in vain still holds, so nobody waits for it here.
func (s *session) close() {
	s.gate.cut()
	s.helpers.Go(func() { _ = s.client.Close() })
}

// await runs a call into sarama, which knows no context, and gives it up when
// ctx ends. Then the gate is cut, so that the call cannot do anything any more.
func await[T any](ctx context.Context, s *session, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	s.helpers.Go(func() {
		value, err := call()
		done <- result{value, err}
	})
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		s.gate.cut()
		var none T
		return none, unsentError{errNoAnswer}
	}
}

// identify gets a new producer id, with which every partition counts from 0. A
// broker that has just started has none to give for some seconds; that is
// waited for as long as ctx allows.
func (s *session) identify(ctx context.Context) error {
	for failed := 1; ; failed++ {
		response, err := await(ctx, s, s.askForProducerID)
		if err != nil {
			return fmt.Errorf("ask for a producer id: %w", err)
		}
		if errors.Is(response.Err, sarama.ErrNoError) {
			s.id = identity{response.ProducerID, response.ProducerEpoch}
			s.next = map[target]int32{}
			return nil
		}
		err = fmt.Errorf("ask for a producer id: %w", response.Err)
		if !soonAvailable(response.Err) || sleep(ctx, backoff(failed)) != nil {
			return err
		}
	}
}

func soonAvailable(answer sarama.KError) bool {
	switch answer {
	case sarama.ErrOffsetsLoadInProgress, sarama.ErrConsumerCoordinatorNotAvailable, sarama.ErrNotCoordinatorForConsumer,
		sarama.ErrRequestTimedOut, sarama.ErrBrokerNotAvailable, sarama.ErrNotController:
		return true
	default:
		return false
	}
}

// askForProducerID asks one broker after another. The client's own method leaves
// the fields of a resumed id at zero instead of "none".
func (s *session) askForProducerID() (*sarama.InitProducerIDResponse, error) {
	brokers := s.client.Brokers()
	rand.Shuffle(len(brokers), func(i, j int) { brokers[i], brokers[j] = brokers[j], brokers[i] }) //nolint:gosec // Only spreads the load.
	failures := []error{sarama.ErrOutOfBrokers}
	for _, b := range brokers {
		broker, err := s.client.Broker(b.ID())
		if err != nil {
			failures = append(failures, err)
			continue
		}
		response, err := broker.InitProducerID(&sarama.InitProducerIDRequest{Version: 4, ProducerID: -1, ProducerEpoch: -1})
		if err == nil {
			return response, nil
		}
		failures = append(failures, err)
		_ = broker.Close() // It is of no use; the next call opens it anew.
	}
	return nil, errors.Join(failures...)
}

// knock makes a connection of its own to one of the bootstrap servers after the
// other, until one lets it in. The client's methods would not tell why none did.
func (s *session) knock() error {
	var failures []error
	for _, address := range s.config.Servers {
		err := s.knockAt(address)
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

func (s *session) knockAt(address string) error {
	broker := sarama.NewBroker(address)
	if err := broker.Open(s.client.Config()); err != nil {
		return err
	}
	defer broker.Close() //nolint:errcheck // It has served.
	if err := connected(broker); err != nil {
		return err
	}
	// A broker may say only now that it does not accept the certificate.
	if _, err := broker.GetMetadata(sarama.NewMetadataRequest(s.client.Config().Version, []string{cmp.Or(s.config.Topic, noTopic)})); err != nil {
		return fmt.Errorf("ask %s: %w", address, err)
	}
	return nil
}
