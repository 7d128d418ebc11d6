package debezium

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Message is what a consumer sees of a record, but for offset and time. All bytes
// are UTF-8, so that the recording can be read; null is no value, not an empty one.
type Message struct {
	Topic     string    `json:"topic"`
	Partition int32     `json:"partition"`
	Key       *string   `json:"key"`
	Value     *string   `json:"value"`
	Headers   []Header  `json:"headers"`
	At        time.Time `json:"-"`
}

// Header is a header of a Message.
type Header struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

// Read reads count messages from the topics, in the order of their rows.
func Read(ctx context.Context, servers []string, count int) ([]Message, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.ConsumeTopics(Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var messages []Message
	for len(messages) < count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return messages, err
		}
		for _, r := range fetches.Records() {
			messages = append(messages, messageOf(r))
		}
	}
	slices.SortStableFunc(messages, func(a, b Message) int { return cmp.Compare(a.id(), b.id()) })
	return messages, nil
}

func messageOf(r *kgo.Record) Message {
	m := Message{Topic: r.Topic, Partition: r.Partition, Key: text(r.Key), Value: text(r.Value), At: r.Timestamp, Headers: []Header{}}
	for _, h := range r.Headers {
		m.Headers = append(m.Headers, Header{h.Key, text(h.Value)})
	}
	return m
}

func text(b []byte) *string {
	if b == nil {
		return nil
	}
	return new(string(b))
}

// id is the header that tells which row it is.
func (m Message) id() string {
	for _, h := range m.Headers {
		if h.Key == "id" && h.Value != nil {
			return *h.Value
		}
	}
	return ""
}

// File is where the recording is, seen from folder dir of this package.
func (r Recording) File(dir string) string { return filepath.Join(dir, "testdata", r.Name+".json") }

// Save writes what the router made.
func (r Recording) Save(dir string, messages []Message) error {
	data, err := json.MarshalIndent(messages, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.File(dir), append(data, '\n'), 0o600)
}

// Load reads what the router made.
func (r Recording) Load(dir string) (messages []Message, err error) {
	data, err := os.ReadFile(r.File(dir))
	if err != nil {
		return nil, err
	}
	return messages, json.Unmarshal(data, &messages)
}
