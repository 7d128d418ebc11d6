package relay

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
	"github.com/relayfleet/relayfleet/relay/publish"
	"github.com/relayfleet/relayfleet/relay/settings"
)

// refreshEvery is how often the files of the credentials are read again.
const refreshEvery = 5 * time.Second

// Options is what a relay needs beside its settings.
type Options struct {
	// Name tells this relay from others, for people who look at the sessions of
	// the database or the clients of the broker; nothing depends on it.
	Name string
	// Grace is Config.Grace.
	Grace time.Duration
	// Events is told what happens.
	Events Events
}

// Opened is a relay with the connections that belong to it.
type Opened struct {
	*Relay
	db        *outbox.DB
	doctor    *schema.Doctor
	producers []*publish.Producer
	listener  *outbox.Listener
	events    Events
	// watchesTopic: added partitions are to be noticed soon.
	watchesTopic bool
}

// slots is how many batches are sent side by side: while the broker works on
// some, the database works on others. More were measured and bring nothing.
const slots = 3

// Open puts a relay together. It needs neither database nor broker yet, nor
// credentials: what is missing is reported, and waited for, by Run.
func Open(s settings.Settings, o Options) (*Opened, error) {
	mapping, err := mappingOf(s)
	if err != nil {
		return nil, err
	}
	db, err := outbox.Open(databaseConfig(s, o.Name))
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	table := outbox.Table{Schema: s.Table.Schema, Name: s.Table.Name}
	store, err := rows.New(db, rows.Config{Table: table, Mapping: mapping, Lease: s.Lease(), Order: orderOf(s), Retention: retentionOf(s.Retention)})
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("open store: %w", err)
	}
	doctor := newDoctor(s, db, mapping)
	events := Tee(o.Events)
	producers, err := newProducers(brokerConfig(s, o.Name), events.Partitioned)
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("open broker: %w", err)
	}
	opened := &Opened{db: db, doctor: doctor, producers: producers, events: events, watchesTopic: s.Ordering.Mode == settings.OrderKey && s.Topic != ""}
	c := Config{
		Store: store, Abilities: store.Abilities(),
		CheckDatabase: func(ctx context.Context) error { return checkDatabase(ctx, db, doctor) },
		CheckBroker:   producers[slots].Probe,
		BatchSize:     s.BatchSize, MaxBytes: s.MaxBytesInFlight, MaxClaim: s.MaxClaim(),
		Ordered: s.Ordering.Mode == settings.OrderKey,
		Retry: RetryPolicy{
			MaxAttempts: s.Retry.MaxAttempts, MaxAge: s.Retry.MaxAge(), Backoff: s.Retry.Backoff(), MaxBackoff: s.Retry.MaxBackoff(),
		},
		Purge:  purgeOf(s.Retention, store),
		Grace:  o.Grace,
		Events: o.Events,
	}
	for _, p := range producers[:slots] {
		c.Publishers = append(c.Publishers, p)
	}
	if s.WakeUp.Mode == settings.WakeUpNotify {
		opened.listener = db.Listen(s.WakeUp.Channel, listenEvery, opened.heard)
		c.Hints, c.Hinted = opened.listener.Hints(), opened.listener.Working
	}
	opened.Relay = New(c)
	return opened, nil
}

// newProducers makes one for each slot and one more for the check, which must
// not wait for a slot's send. They share what secures their connections, and what
// they know of the topic.
func newProducers(c publish.Config, partitioned func(now, before int)) (producers []*publish.Producer, err error) {
	c.Partitions = publish.NewPartitions(partitioned)
	c.Credentials, err = publish.NewCredentials(c)
	if err != nil {
		return nil, err
	}
	for range slots + 1 {
		producer, err := publish.New(c)
		if err != nil {
			return nil, err
		}
		producers = append(producers, producer)
	}
	return producers, nil
}

// listenEvery is how often a listener that hears nothing asks itself whether it could.
const listenEvery = 30 * time.Second

func (o *Opened) heard(working bool, err error) {
	if working {
		err = nil
	}
	o.events.Heard(err)
}

// Run works until ctx ends; see Relay.Run. Meanwhile it watches the credentials.
func (o *Opened) Run(ctx context.Context) {
	var beside sync.WaitGroup
	beside.Go(func() { o.refresh(ctx) })
	beside.Go(func() { o.examine(ctx) })
	if o.watchesTopic {
		beside.Go(func() { o.watchTopic(ctx) })
	}
	if o.listener != nil {
		beside.Go(func() { o.listen(ctx) })
	}
	o.Relay.Run(ctx)
	beside.Wait()
}

// listen begins when there are credentials that work.
func (o *Opened) listen(ctx context.Context) {
	if o.database.wait(ctx, true) == nil {
		o.listener.Run(ctx)
	}
}

// refresh takes up rotated credentials. New ones that do not work are reported
// and change nothing: the old ones stay in use.
func (o *Opened) refresh(ctx context.Context) {
	for sleep(ctx, refreshEvery) == nil {
		if err := o.db.Refresh(ctx); err != nil && ctx.Err() == nil {
			o.events.Warned("take up changed credentials", err)
		}
		if err := o.producers[0].Credentials().Refresh(ctx); err != nil && ctx.Err() == nil {
			o.events.Warned("take up changed credentials of the broker", err)
		}
	}
}

// topicEvery is how often a relay that keeps an order asks for the partitions of
// its topic.
const topicEvery = 15 * time.Second

// watchTopic notices added partitions also while nothing is published. A failure
// says nothing here: sends meet it too.
func (o *Opened) watchTopic(ctx context.Context) {
	for sleep(ctx, topicEvery) == nil {
		if o.broker.isOpen() {
			_ = o.producers[slots].Probe(ctx)
		}
	}
}

// Close ends the connections.
func (o *Opened) Close() {
	o.db.Close()
	for _, p := range o.producers {
		p.Close()
	}
}

func orderOf(s settings.Settings) rows.Order {
	return rows.Order{
		ByKey: s.Ordering.Mode == settings.OrderKey, Halt: s.Ordering.OnFailed == settings.Halt,
		ByPriority: s.Priority.Enabled, OldestPercent: s.Priority.OldestPercent,
	}
}

func retentionOf(r settings.Retention) *rows.Retention {
	if r.Policy != settings.RetentionDelete {
		return nil
	}
	return &rows.Retention{Window: time.Duration(r.SentSeconds) * time.Second, Statuses: r.Statuses}
}

func purgeOf(r settings.Retention, store *rows.Store) Purge {
	if r.Policy != settings.RetentionDelete {
		return nil
	}
	return store.Purge
}

func checkDatabase(ctx context.Context, db *outbox.DB, doctor *schema.Doctor) error {
	if err := db.Refresh(ctx); err != nil {
		return err
	}
	return doctor.Check(ctx)
}

func databaseConfig(s settings.Settings, name string) outbox.Config {
	return outbox.Config{
		URIFile: s.Database.URIFile, TLSMode: outbox.TLSMode(s.Database.TLS.Mode), CAFile: s.Database.TLS.CAFile,
		CertificateFile: s.Database.TLS.CertificateFile, PrivateKeyFile: s.Database.TLS.PrivateKeyFile,
		ApplicationName: clientName(name), Pooling: outbox.Pooling(s.Database.Pooling),
	}
}

// brokerConfig is for all producers of a relay, which share its Credentials.
func brokerConfig(s settings.Settings, name string) publish.Config {
	c := publish.Config{
		Servers: s.Kafka.BootstrapServers, Topic: s.Topic, ClientID: clientName(name),
		Compression: publish.Compression(strings.ToLower(string(s.Kafka.Compression))),
		Ordered:     s.Ordering.Mode == settings.OrderKey,
	}
	if s.Mapping.Preset == settings.PresetDebezium {
		c.Headers = publish.Debezium
	}
	if t := s.Kafka.TLS; t != nil {
		c.TLS = &publish.TLS{
			Mode: publish.TLSMode(t.Mode), CAFile: t.CAFile, CertificateFile: t.CertificateFile, PrivateKeyFile: t.PrivateKeyFile,
		}
	}
	if a := s.Kafka.Authentication; a != nil {
		c.Authentication = &publish.Authentication{
			Mechanism: publish.Mechanism(a.Type), Username: a.Username, UsernameFile: a.UsernameFile, PasswordFile: a.PasswordFile,
		}
		if a.OAuth != nil {
			c.Authentication.OAuth = new(publish.OAuth(*a.OAuth))
		}
	}
	return c
}

func clientName(name string) string {
	if name == "" {
		return "relayfleet"
	}
	return "relayfleet " + name
}
