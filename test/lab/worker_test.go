package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// lease is how long claims hold: far longer than a test, so that they end only
// where a scenario ends them.
const lease = 10 * time.Minute

// worker is one owner of claims, of one row at a time.
type worker interface {
	// claim returns the event that it now holds; empty when there is none.
	claim(ctx context.Context) (string, error)
	// sent and retry record the outcome of the last claim and say whether that
	// was accepted.
	sent(ctx context.Context) (bool, error)
	retry(ctx context.Context) (bool, error)
}

// guarded is the project's own store.
type guarded struct {
	store *rows.Store
	batch event.Batch
}

func newGuarded(db *outbox.DB, table outbox.Table, m outbox.Mapping) (*guarded, error) {
	store, err := rows.New(db, rows.Config{Table: table, Mapping: m, Lease: lease})
	return &guarded{store: store}, err
}

func (w *guarded) claim(ctx context.Context) (string, error) {
	batch, err := w.store.Claim(ctx, event.Ask{Rows: 1})
	if err != nil || len(batch.Events) == 0 {
		return "", err
	}
	w.batch = batch
	return batch.Events[0].ID, nil
}

func (w *guarded) sent(ctx context.Context) (bool, error) {
	settled, err := w.store.Settle(ctx, w.batch, []event.Settlement{{Action: event.Sent}})
	return settled.Sent == 1, err
}

func (w *guarded) retry(ctx context.Context) (bool, error) {
	settled, err := w.store.Settle(ctx, w.batch, []event.Settlement{{Action: event.Retry, Delay: time.Minute}})
	return settled.Retried == 1, err
}

// unsafe is the baseline: it never takes an expired claim, and any row with its
// id and the right status is good enough for it.
type unsafe struct {
	conn  *pgx.Conn
	table outbox.Table
	m     outbox.Mapping
	id    string
}

func (w *unsafe) claim(ctx context.Context) (string, error) {
	claimed, set := w.claimed(), ""
	if w.m.InProgress != "" {
		set = fmt.Sprintf(", %s = '%s'", q(w.m.Status), w.m.InProgress)
	}
	if w.m.Generation != "" {
		set += fmt.Sprintf(", %[1]s = o.%[1]s + 1", q(w.m.Generation))
	}
	if w.m.ClaimToken != "" {
		set += fmt.Sprintf(", %s = gen_random_uuid()", q(w.m.ClaimToken))
	}
	statement := fmt.Sprintf(`WITH candidate AS (
			SELECT %[1]s AS id FROM %[2]s WHERE %[3]s = '%[4]s' AND NOT (%[5]s) AND %[6]s <= statement_timestamp()
			ORDER BY %[6]s LIMIT 1 FOR UPDATE SKIP LOCKED)
		UPDATE %[2]s AS o SET %[7]s = statement_timestamp() + interval '10 minutes'%[8]s
		FROM candidate AS c WHERE o.%[1]s = c.id RETURNING o.%[1]s::text, o.%[9]s::text`,
		q(w.m.ID), w.table.SQL(), q(w.m.Status), w.m.Ready, claimed, q(w.m.NextAttemptAt), q(w.m.LeaseUntil), set, q(w.m.EventID))
	var event string
	err := w.conn.QueryRow(ctx, statement).Scan(&w.id, &event)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return event, err
}

// claimed is the condition by which the table tells a claimed row.
func (w *unsafe) claimed() string {
	if w.m.InProgress != "" {
		return fmt.Sprintf("%s = '%s'", q(w.m.Status), w.m.InProgress)
	}
	return q(w.m.ClaimToken) + " IS NOT NULL"
}

func (w *unsafe) sent(ctx context.Context) (bool, error) {
	return w.update(ctx, fmt.Sprintf("%s = '%s', %s = NULL", q(w.m.Status), w.m.Sent, q(w.m.LeaseUntil)))
}

func (w *unsafe) retry(ctx context.Context) (bool, error) {
	set := fmt.Sprintf("%s = '%s', %s = NULL, %s = statement_timestamp() + interval '1 minute'",
		q(w.m.Status), w.m.Ready, q(w.m.LeaseUntil), q(w.m.NextAttemptAt))
	if w.m.InProgress == "" {
		set += ", " + q(w.m.ClaimToken) + " = NULL"
	}
	return w.update(ctx, set)
}

func (w *unsafe) update(ctx context.Context, set string) (bool, error) {
	status := w.m.ClaimedStatus()
	tag, err := w.conn.Exec(ctx, fmt.Sprintf("UPDATE %s SET %s WHERE %s::text = $1 AND %s = '%s'",
		w.table.SQL(), set, q(w.m.ID), q(w.m.Status), status), w.id)
	return tag.RowsAffected() == 1, err
}

func q(name string) string { return pgx.Identifier{name}.Sanitize() }
