package rows

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relayfleet/relayfleet/relay/event"
)

// read fills the batch with the rows' content. No transaction is open between
// the chunks, and none of them holds a lock. A row that is not ours any more,
// or not there any more, is left out.
func (s *Store) read(ctx context.Context, conn *pgxpool.Conn, b *event.Batch, rows []claimed, now time.Time) error {
	events := make([]event.Event, 0, len(rows))
	found := make([]claimed, 0, len(rows))
	for rest := rows; len(rest) > 0; {
		n := prefix(rest, chunkBytes)
		chunk, err := s.readChunk(ctx, conn, b.Token, rest[:n], now)
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
	b.Events, b.Claim = events, newClaim(found)
	return nil
}

// readChunk returns one event per row; one without a Row was not found.
func (s *Store) readChunk(
	ctx context.Context, conn *pgxpool.Conn, token [16]byte, rows []claimed, now time.Time,
) ([]event.Event, error) {
	ids, places := make([]int64, len(rows)), make(map[int64]int, len(rows))
	for i, row := range rows {
		ids[i], places[row.id] = row.id, i
	}
	events := make([]event.Event, len(rows))
	found, err := conn.Query(ctx, s.statements.read, ids, pgtype.UUID{Bytes: token, Valid: true})
	if err != nil {
		return nil, err
	}
	var (
		id            int64
		identity      pgtype.UUID
		topic         pgtype.Text
		key           pgtype.Text
		payload, head []byte
		created       pgtype.Timestamptz
	)
	_, err = pgx.ForEachRow(found, []any{&id, &identity, &topic, &key, &payload, &head, &created}, func() error {
		place := places[id]
		row := rows[place]
		headers, invalid := parseHeaders(head)
		if !identity.Valid {
			invalid = "event_id is NULL: without an identity a consumer cannot recognise a duplicate"
		}
		events[place] = event.Event{
			ID: identity.String(), Row: strconv.FormatInt(row.id, 10),
			Topic: topic.String, Key: keyBytes(key), Payload: payload, Headers: headers, Invalid: invalid,
			CreatedAt: finite(created), Attempts: int(row.attempts), Age: age(now, created),
		}
		return nil
	})
	return events, err
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
