// Package outboxtest is the one suite that every store must pass, over every
// table that it claims to serve. The suite knows no SQL and no column: what it
// does behind the stores' backs it asks of a Table.
package outboxtest

import (
	"context"
	"testing"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Store is what the pipeline needs of an outbox; package relay says the same.
type Store interface {
	Claim(ctx context.Context, ask event.Ask) (event.Batch, error)
	Settle(ctx context.Context, b event.Batch, settlements []event.Settlement) (event.Settled, error)
	Renew(ctx context.Context, b event.Batch) (event.Settled, error)
	Release(ctx context.Context, b event.Batch, events []int, cause event.ReleaseCause) (event.Settled, error)
	Backlog(ctx context.Context) (event.Backlog, error)
}

// Lease is how long the stores of a Table have to claim: far longer than a test
// takes, so that a lease ends only where the suite ends it.
const Lease = 10 * time.Minute

// Abilities are what a table can record, as far as the suite can see it.
type Abilities struct {
	event.Abilities
	// Generation: it counts claims.
	Generation bool
	// Reasons: it keeps why an event was refused.
	Reasons bool
}

// Table is an outbox for one test alone.
type Table interface {
	// Abilities are the same for all tables of one kind.
	Abilities() Abilities
	// Disturbances are those that can happen to this kind of table.
	Disturbances() []Disturbance
	// Store opens one more store, as one more relay would.
	Store(t *testing.T) Store
	// Insert commits n due events, one after the other, and returns their
	// identities, the oldest first.
	Insert(t *testing.T, n int) []string
	// Look returns how an event is recorded.
	Look(t *testing.T, id string) Row
	// Disturb changes what is recorded of an event, as others would.
	Disturb(t *testing.T, id string, d Disturbance)
	// Lock holds an event in an open transaction until unlock is called.
	Lock(t *testing.T, id string) (unlock func())
}

// Row is how an event is recorded.
type Row struct {
	Status     Status
	Generation int64
	Attempts   int
	// DueIn is when it can be claimed, from now on the database's clock; of a
	// claimed one, when its lease ends.
	DueIn time.Duration
	Error string
	// All is everything that is recorded, to tell whether anything was changed.
	All string
}

// Status is the state of an event, whatever a table calls it.
type Status string

// The states.
const (
	Ready      Status = "READY"
	InProgress Status = "INPROGRESS"
	Sent       Status = "SENT"
	Failed     Status = "FAILED"
)

// Disturbance is something that happens to a claimed event. Each changes one
// thing that the guard asks for and leaves the others as they are.
type Disturbance string

// The disturbances.
const (
	LeaseEnded        Disturbance = "lease has ended"
	AnotherGeneration Disturbance = "another generation"
	AnotherToken      Disturbance = "another token"
	AlreadySent       Disturbance = "already sent"
	AlreadyReady      Disturbance = "already ready"
	// Consumed: a consumer has moved it to a state of its own.
	Consumed Disturbance = "taken by a consumer"
	Removed  Disturbance = "removed"
)
