package publish

import (
	"strconv"
	"time"

	"github.com/IBM/sarama"

	"github.com/relayfleet/relayfleet/relay/event"
)

// HeaderStyle is the set of headers that a record gets besides the row's own.
type HeaderStyle string

const (
	// Standard is the default: the headers that are named below.
	Standard HeaderStyle = "Standard"
	// Debezium is what Debezium's outbox event router sets: the event's id alone,
	// under DebeziumIDHeader.
	Debezium HeaderStyle = "Debezium"
)

// The headers of the style Standard stand before the row's own, in this order. A
// row's own header of a name that is set here is not sent, so that nothing a row
// holds can pass for ours; of EventIDHeader, GenerationHeader and RowIDHeader,
// never. All other headers of a row are sent as they are, traceparent and
// tracestate among them.
const (
	// EventIDHeader carries Event.ID, by which a consumer recognises a duplicate.
	EventIDHeader = "event-id"
	// GenerationHeader carries Event.Generation in decimal; it is absent where the
	// table does not count claims. Of two records of one event the larger is the later
	// claim's.
	GenerationHeader = "generation"
	// RowIDHeader carries Event.Row, the row's primary key as text.
	RowIDHeader = "row-id"
	// CreatedAtHeader carries Event.CreatedAt as RFC 3339 with milliseconds, in UTC;
	// it is absent where the table does not say.
	CreatedAtHeader = "created-at"
	// ContentTypeHeader carries Event.ContentType; it is absent when that is empty.
	ContentTypeHeader = "content-type"
)

// DebeziumIDHeader carries Event.ID in the style Debezium. A row's own header of
// this name is not sent.
const DebeziumIDHeader = "id"

const (
	secondLayout    = "2006-01-02T15:04:05."
	createdAtLayout = secondLayout + "000Z"
	// ownHeaders is the most headers that a style sets, and ownBytes the most that
	// their numbers and times take.
	ownHeaders = 5
	ownBytes   = len("-9223372036854775808") + len(createdAtLayout) + len("10000")
)

var (
	eventIDKey     = []byte(EventIDHeader)
	generationKey  = []byte(GenerationHeader)
	rowIDKey       = []byte(RowIDHeader)
	createdAtKey   = []byte(CreatedAtHeader)
	contentTypeKey = []byte(ContentTypeHeader)
	debeziumIDKey  = []byte(DebeziumIDHeader)
)

// headerSlab makes the headers of a batch's records. All live in a few slabs, for
// a batch of small events is mostly overhead.
type headerSlab struct {
	style    HeaderStyle
	entries  []sarama.RecordHeader
	pointers []*sarama.RecordHeader
	text     []byte
	// stamp is the text of a second, for most rows of a batch share theirs.
	stamp  []byte
	second int64
}

func newHeaderSlab(style HeaderStyle, events []event.Event) *headerSlab {
	headers, text := 0, 0
	for i := range events {
		e := &events[i]
		headers += ownHeaders + len(e.Headers)
		text += ownBytes + len(e.ID) + len(e.Row) + len(e.ContentType)
		for j := range e.Headers {
			text += len(e.Headers[j].Key)
		}
	}
	return &headerSlab{
		style:   style,
		entries: make([]sarama.RecordHeader, 0, headers), pointers: make([]*sarama.RecordHeader, 0, headers), text: make([]byte, 0, text),
	}
}

// of returns the headers of one event's record.
func (s *headerSlab) of(e *event.Event) []*sarama.RecordHeader {
	first := len(s.pointers)
	if s.style == Debezium {
		s.add(debeziumIDKey, s.keep(e.ID))
	} else {
		s.standard(e)
	}
	for i := range e.Headers {
		if h := &e.Headers[i]; !s.isOurs(e, h.Key) {
			s.add(s.keep(h.Key), h.Value)
		}
	}
	return s.pointers[first:len(s.pointers):len(s.pointers)]
}

func (s *headerSlab) standard(e *event.Event) {
	s.add(eventIDKey, s.keep(e.ID))
	if e.Generation != 0 {
		s.add(generationKey, s.grown(strconv.AppendInt(s.text, e.Generation, 10)))
	}
	if e.Row != "" {
		s.add(rowIDKey, s.keep(e.Row))
	}
	if !e.CreatedAt.IsZero() {
		s.add(createdAtKey, s.grown(s.appendTime(s.text, e.CreatedAt)))
	}
	if e.ContentType != "" {
		s.add(contentTypeKey, s.keep(e.ContentType))
	}
}

// appendTime appends t as createdAtLayout has it.
func (s *headerSlab) appendTime(b []byte, t time.Time) []byte {
	if second := t.Unix(); second != s.second || len(s.stamp) == 0 {
		s.stamp, s.second = t.UTC().AppendFormat(s.stamp[:0], secondLayout), second
	}
	milli := t.Nanosecond() / int(time.Millisecond)
	return append(append(b, s.stamp...), byte('0'+milli/100), byte('0'+milli/10%10), byte('0'+milli%10), 'Z') //nolint:gosec // Below 1000.
}

// isOurs: the row has no say about a header of this name.
func (s *headerSlab) isOurs(e *event.Event, name string) bool {
	if s.style == Debezium {
		return name == DebeziumIDHeader
	}
	switch name {
	case EventIDHeader, GenerationHeader, RowIDHeader:
		return true
	case CreatedAtHeader:
		return !e.CreatedAt.IsZero()
	case ContentTypeHeader:
		return e.ContentType != ""
	default:
		return false
	}
}

func (s *headerSlab) add(key, value []byte) {
	s.entries = append(s.entries, sarama.RecordHeader{Key: key, Value: value})
	s.pointers = append(s.pointers, &s.entries[len(s.entries)-1])
}

func (s *headerSlab) keep(text string) []byte { return s.grown(append(s.text, text...)) }

// grown takes what was appended to text.
func (s *headerSlab) grown(text []byte) []byte {
	added := text[len(s.text):len(text):len(text)]
	s.text = text
	return added
}
