package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// hearWithin is how long its own notification may take.
	hearWithin = 5 * time.Second
	// probePayload is the listener's own notification: it is no hint.
	probePayload = "relayfleet: can you hear me?"
)

// errDeaf: LISTEN was accepted, and nothing comes. A pooler in transaction mode
// does that, and a standby.
var errDeaf = errors.New("the listener does not hear its own notification")

// Listener hears the notifications of a channel, as hints that there are new
// rows. Hints get lost, so nobody may rely on them alone: it finds out by itself
// whether it can hear anything, and says so.
type Listener struct {
	db      *DB
	channel string
	hints   chan struct{}
	working atomic.Bool
	every   time.Duration
	told    func(working bool, err error)
}

// Listen makes a listener that does nothing until Run. When it has heard nothing
// for so long as every says, it asks itself whether it could, and a listener that
// has failed tries again then. told is called whenever hearing begins, and
// whenever it ends, with the reason.
func (db *DB) Listen(channel string, every time.Duration, told func(working bool, err error)) *Listener {
	return &Listener{db: db, channel: channel, hints: make(chan struct{}, 1), every: every, told: told}
}

// Hints receives a value when there may be new rows; several hints may be one.
func (l *Listener) Hints() <-chan struct{} { return l.hints }

// Working says whether notifications are heard at the moment.
func (l *Listener) Working() bool { return l.working.Load() }

// Run listens until ctx ends, on a connection of its own.
func (l *Listener) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := l.listen(ctx)
		l.set(false, err)
		select {
		case <-time.After(l.every):
		case <-ctx.Done():
		}
	}
}

func (l *Listener) set(working bool, err error) {
	if l.working.Swap(working) != working || err != nil && !errors.Is(err, context.Canceled) {
		l.told(working, err)
	}
}

func (l *Listener) listen(ctx context.Context) error {
	settings := l.db.inUse()
	if settings == nil {
		return &Problem{Code: CredentialsMissing, Err: errors.New("no credentials have worked yet")}
	}
	conn, err := pgx.ConnectConfig(ctx, settings)
	if err != nil {
		return fmt.Errorf("connect to listen: %w", Classify(err))
	}
	defer func() {
		// Whether it ends politely does not matter.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{l.channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen: %w", Classify(err))
	}
	for ctx.Err() == nil {
		if err := l.hearOrProbe(ctx, conn); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// hearOrProbe passes hints on until none has come for a while, and then makes
// sure that one would have come.
func (l *Listener) hearOrProbe(ctx context.Context, conn *pgx.Conn) error {
	if l.Working() {
		quiet, cancel := context.WithTimeout(ctx, l.every)
		defer cancel()
		heard, err := conn.WaitForNotification(quiet)
		if err == nil {
			l.hint(heard)
			return nil
		}
		if ctx.Err() != nil || !pgconn.Timeout(err) {
			return fmt.Errorf("wait for notifications: %w", Classify(err))
		}
	}
	return l.probe(ctx, conn)
}

// probe sends a notification by another connection and waits for it.
func (l *Listener) probe(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, hearWithin)
	defer cancel()
	if _, err := l.db.Pool().Exec(ctx, "SELECT pg_catalog.pg_notify($1, $2)", l.channel, probePayload); err != nil {
		return fmt.Errorf("notify myself: %w", Classify(err))
	}
	for {
		heard, err := conn.WaitForNotification(ctx)
		switch {
		case err != nil && pgconn.Timeout(err):
			return errDeaf
		case err != nil:
			return fmt.Errorf("wait for notifications: %w", Classify(err))
		}
		l.set(true, nil)
		l.hint(heard)
		if heard.Payload == probePayload {
			return nil
		}
	}
}

func (l *Listener) hint(heard *pgconn.Notification) {
	if heard.Payload == probePayload {
		return
	}
	select {
	case l.hints <- struct{}{}:
	default: // One hint is as good as many.
	}
}
