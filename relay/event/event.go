// Package event holds the words that the rooms of the relay share: what a claim
// took (Batch, Event), what the broker said of it (Outcome), and what is to be
// recorded of it (Settlement). It imports nothing of ours and does nothing.
package event

import "time"

// Event is one row of an outbox, as the publisher needs it.
type Event struct {
	// ID is the identity of the event: the same in every attempt, and what a
	// consumer recognises a duplicate by. The generation is not the identity.
	ID string
	// Row is the primary key of the row as text.
	Row string
	// Topic is the row's own topic; empty means the fleet's.
	Topic string
	// Key decides the partition; nil means none: any partition, no order.
	Key []byte
	// Payload is sent as it is; nil is a tombstone.
	Payload []byte
	// Headers are the row's own, in the order in which they are sent.
	Headers []Header
	// ContentType is the payload's media type; empty: nobody knows.
	ContentType string
	// Generation counts the claims of this row, this one included; 0 where the
	// table does not count.
	Generation int64
	// CreatedAt is when the row was inserted; zero where the table does not say.
	CreatedAt time.Time
	// Attempts counts the claims of this row that are charged, this one included.
	// Where the table does not count them it is Generation, good for a back-off
	// but for no budget; see Abilities.
	Attempts int
	// Invalid says why this row cannot be published as it is; empty for all others.
	Invalid string
	// Age is how long the row had existed when it was claimed, on the database's
	// clock; 0 where the table does not say.
	Age time.Duration
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Ask says what a claim may take.
type Ask struct {
	// Rows is the most rows.
	Rows int
	// Bytes is the most payload bytes; a single larger row comes alone.
	Bytes int64
	// Suspects asks for rows, and only those, whose lease has run out after two
	// or more attempts: the oldest one and others, ever fewer as its attempts
	// go on, down to itself alone. Without it none of them comes.
	Suspects bool
	// MaxAttempts is when an attempt budget is used up: such a suspect comes
	// alone, and one that was alone already becomes FAILED instead.
	MaxAttempts int
}

// Abilities are what a table can record. What it cannot is off.
type Abilities struct {
	// Attempts: it counts attempts, so that they can be used up.
	Attempts bool
	// Failed: it can say that an event is given up.
	Failed bool
	// Age: it says when an event was inserted.
	Age bool
	// Token: a claim is fenced by a random token, and a lone claim can be marked.
	Token bool
}

// Batch is what one claim took. It passes from claimer to slot to settler, and
// whoever holds it is the only one who touches it.
type Batch struct {
	// Token is the claim's random fence; it is never reused.
	Token [16]byte
	// Lone marks a claim of a single suspect row: only the end of such a claim
	// tells that this very row is what kills its relays.
	Lone bool
	// SuspectsWait: rows wait that only a claim for suspects takes.
	SuspectsWait bool
	// Abandoned counts rows that this claim has ended as FAILED, because they were
	// alone when their last relay died and their attempts are used up.
	Abandoned int
	// Started was read from the local clock before the claim was sent, so that
	// Started plus Lease is never later than the lease's end in the database.
	Started time.Time
	// Lease is how long the claim holds, counted by the database.
	Lease time.Duration
	// Reclaimed counts the events that another claim had held until its lease ended.
	Reclaimed int
	// Events are in the order in which they are to be published.
	Events []Event
	// Claim is the store's own memory of the rows; nobody else looks into it.
	Claim any
}

// OutcomeKind says what became of one event at the broker.
type OutcomeKind int

const (
	// Unknown: handed over, and no answer that can be believed. The row keeps
	// its claim until the lease ends. It is the zero value, because it is the
	// only kind that is safe to assume.
	Unknown OutcomeKind = iota
	// Published: the broker has acknowledged the record.
	Published
	// Refused: the broker refused this very record, and may take it later.
	Refused
	// Rejected: the broker, or the relay on its behalf, refuses this very
	// record for good.
	Rejected
	// Unsent: never handed over to the broker.
	Unsent
)

// Outcome is what became of one event at the broker.
type Outcome struct {
	Kind OutcomeKind
	// Reason says in one short, stable, secret-free sentence why an event was
	// refused or rejected; it is kept in the row.
	Reason string
}

// Action says what a settle records of one event.
type Action int

const (
	// Leave records nothing: the claim runs out by itself.
	Leave Action = iota
	// Sent ends the row as published.
	Sent
	// Retry makes the row READY again, due after Delay.
	Retry
	// Fail ends the row as FAILED: unresolved, visible, repairable.
	Fail
)

// Settlement is what is to be recorded of one event.
type Settlement struct {
	Action Action
	// Delay is how long a Retry waits, counted from the settle by the database.
	Delay time.Duration
	// Reason is kept in the row with Retry and Fail.
	Reason string
}

// ReleaseCause says why rows, or only the attempt that their claim has charged,
// are given back.
type ReleaseCause int

const (
	// Stopping: the relay ends. The rows are due at once, for anybody.
	Stopping ReleaseCause = iota
	// Outage: the broker cannot be used. The rows keep their due time, so that
	// their age goes on.
	Outage
	// Unanswered: the rows were handed over and the broker gave no answer. They
	// keep claim and lease, because the broker may have them; only the attempt
	// is given back, because the record is not to blame.
	Unanswered
)

// Settled counts what a settle, release or renewal did, row by row. The last
// three count the rows that the guard refused.
type Settled struct {
	Sent, Retried, Failed, Released, Renewed int
	// AlreadyMine: an earlier try of the same statement, whose answer was lost,
	// had already recorded it.
	AlreadyMine int
	// Overtaken: a consumer has moved the row on from INPROGRESS or SENT.
	Overtaken int
	// Stale: the claim is not ours any more.
	Stale int
}

// Refused counts the rows of which nothing was recorded.
func (s Settled) Refused() int { return s.AlreadyMine + s.Overtaken + s.Stale }

// Add adds the counts of o.
func (s Settled) Add(o Settled) Settled {
	return Settled{
		Sent: s.Sent + o.Sent, Retried: s.Retried + o.Retried, Failed: s.Failed + o.Failed, Released: s.Released + o.Released,
		Renewed: s.Renewed + o.Renewed, AlreadyMine: s.AlreadyMine + o.AlreadyMine, Overtaken: s.Overtaken + o.Overtaken, Stale: s.Stale + o.Stale,
	}
}

// Backlog is one look at the table, on the database's clock. Counts stop at a
// cap, so that looking stays cheap however long the backlog is.
type Backlog struct {
	// SampledAt is the database's time of the look.
	SampledAt time.Time
	// OldestEligible is the age, since it became due, of the oldest row that
	// could be claimed now; 0 when there is none.
	OldestEligible time.Duration
	// OldestUnsent is the age, since its insert, of the oldest row that is
	// neither SENT nor FAILED; 0 when there is none.
	OldestUnsent time.Duration
	// Eligible, InFlight, ExpiredLeases and Failed count rows.
	Eligible, InFlight, ExpiredLeases, Failed int
	// Cap is where counting stopped: a count that equals it means "or more".
	Cap int
	// Inserted counts all inserts into the table since its statistics began, those
	// of rolled-back transactions included.
	Inserted int64
}
