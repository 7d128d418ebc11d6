package rows

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
)

// read fills the batch with the rows' content. No transaction is open between
// the chunks, and none of them holds a lock. A row that is not ours any more,
// or not there any more, is left out.
func (s *Store) read(
	ctx context.Context, conn *pgxpool.Conn, all *statements, b *event.Batch, t *taking, rows []claimed,
) error {
	events := make([]event.Event, 0, len(rows))
	found := make([]claimed, 0, len(rows))
	for rest := rows; len(rest) > 0; {
		n := prefix(rest, chunkBytes)
		chunk, err := s.readChunk(ctx, conn, all, newClaim(s.fence(t), rest[:n]), t.now)
		if err != nil {
			return err
		}
		for i, e := range chunk {
			if e.Row == "" {
				continue
			}
			events, found = append(events, e), append(found, rest[i])
			if rest[i].reclaimed {
				b.Reclaimed++
			}
		}
		rest = rest[n:]
	}
	b.Events, b.Claim = events, newClaim(s.fence(t), found)
	return nil
}

// content is what read.sql says of a row.
type content struct {
	id                        key
	partition                 pgtype.Text
	identity, topic, eventKey pgtype.Text
	payload                   []byte
	headers                   []byte
	created                   pgtype.Timestamptz
	contentType               pgtype.Text
	extra                     []pgtype.Text
}

// readChunk returns one event per row; one without a Row was not found.
func (s *Store) readChunk(
	ctx context.Context, conn *pgxpool.Conn, all *statements, c *claim, now time.Time,
) ([]event.Event, error) {
	places := make(map[Key]int, len(c.ids))
	for i := range c.ids {
		places[c.key(i)] = i
	}
	events := make([]event.Event, len(c.ids))
	flush := &pgx.Batch{}
	flush.Queue(all.read.sql, all.read.args(c.args(allOf(c), all.keys)...)...).Query(func(found pgx.Rows) error {
		var row content
		_, err := pgx.ForEachRow(found, []any{
			&row.id, &row.partition, &row.identity, &row.topic, &row.eventKey, &row.payload, &row.headers, &row.created, &row.contentType, &row.extra,
		}, func() error {
			place := places[Key{row.id.String(), row.partition.String}]
			events[place] = row.event(s.config.Mapping, now)
			events[place].Generation, events[place].Attempts = c.generations[place], int(c.attempts[place])
			return nil
		})
		return err
	})
	return events, s.db.Flush(ctx, conn, flush)
}

func (r content) event(m outbox.Mapping, now time.Time) event.Event {
	headers, invalid := parseHeaders(r.headers)
	if !r.identity.Valid || r.identity.String == "" {
		invalid = "the event has no identity: a consumer could not recognise a duplicate"
	}
	topic, unnamed := r.topicOf(m)
	if unnamed {
		invalid = "a column that names the event's topic is NULL"
	}
	return event.Event{
		ID: r.identity.String, Row: r.id.String(), Topic: topic, Key: keyBytes(r.eventKey), Payload: r.payload,
		Headers: r.withColumns(m, headers), ContentType: r.contentType.String, Invalid: invalid,
		CreatedAt: finite(r.created), Age: age(now, r.created),
	}
}

// withColumns adds the headers that the mapping takes from columns.
func (r content) withColumns(m outbox.Mapping, headers []event.Header) []event.Header {
	for i, h := range m.HeaderColumns {
		if value := r.extra[i]; value.Valid {
			headers = append(headers, event.Header{Key: h.Name, Value: []byte(value.String)})
		}
	}
	return headers
}

// topicOf is the row's own topic; empty means the fleet's.
func (r content) topicOf(m outbox.Mapping) (topic string, unnamed bool) {
	if m.TopicTemplate == "" {
		return r.topic.String, false
	}
	var text strings.Builder
	next := len(m.HeaderColumns)
	for _, part := range m.TopicParts() {
		text.WriteString(part.Text)
		if part.Column != "" {
			text.WriteString(r.extra[next].String)
			unnamed = unnamed || !r.extra[next].Valid
			next++
		}
	}
	return text.String(), unnamed
}

// age is how long ago a moment was; 0 for one that is unknown or still to come.
func age(now time.Time, t pgtype.Timestamptz) time.Duration {
	if then := finite(t); !then.IsZero() {
		return max(0, now.Sub(then))
	}
	return 0
}

// keyBytes keeps NULL, which is no key, apart from an empty key.
func keyBytes(key pgtype.Text) []byte {
	if !key.Valid {
		return nil
	}
	return []byte(key.String)
}
