// Package relay is the data plane: it moves committed rows of one outbox table
// to Kafka by a guarded claim loop. It knows no SQL, no column, no produce
// request and nothing of Kubernetes.
//
// # The life of a batch
//
//  1. The claimer asks the store for a batch. The claim is committed before the
//     store returns it: from then on, and until the lease ends, the rows are ours.
//  2. The claimer hands the batch to a slot. Ownership goes with it: whoever
//     holds a batch is the only one who touches it.
//  3. The slot gives the batch to its publisher, which returns one outcome per
//     event, at the deadline at the latest. No transaction is open meanwhile (I4).
//  4. The slot hands batch and outcomes to its settler. While the settler works,
//     the slot publishes the next batch, and the claimer claims the one after it.
//  5. The settler records each outcome by a guarded statement: SENT, retry or
//     FAILED; rows that were never handed over are released. What cannot be
//     recorded before the lease ends is left to it, and will be published again.
//
// A batch never goes back. More claimers would not help: the database is the
// bottleneck, and claims that contend for it cost more than they bring. There are
// a few slots, because a send waits for the broker while the database could work.
//
// Payloads are bounded: with n slots a claim asks for an n+1th of MaxBytes, since
// one batch waits in the claimer's hand while each slot sends one. A slot drops
// the payloads before it hands the batch on. Only a row that is larger by itself
// exceeds its part.
//
// # Renewal
//
// From its claim until its settle begins a batch has a renewer, which makes the
// lease begin anew at each third of it, as long as the claim then ends within
// MaxClaim. Each renewal moves the batch's deadline and what the settler takes for
// the end of the lease. A renewal that finds a row that is not ours any more cuts
// the deadline: nothing more of the batch is sent, whoever holds the others. Rows
// that are done already, or that a consumer has moved on, cut nothing. A renewal
// that fails is tried again; when none succeeds the deadline passes by itself. The
// settler first ends the renewer and waits for it, so that the two never contend.
//
// # Suspects
//
// Rows whose lease has run out after two or more attempts are suspects: one of
// them may be what kills its relays, or what the broker never answers. Ordinary
// claims pass them over and only say that they wait. Then the claimer lets
// everything in flight end, claims suspects, and claims nothing until they are
// settled. So suspects are alone in their relay, which is what makes the mark of a
// lone row true; the store gives out ever fewer of them as their attempts go on.
// Each claim for suspects follows an ordinary one, so that neither waits for ever.
//
// # Whose time
//
// Leases are decided by the database's clock alone. The relay measures only how
// long things take, and from before it sent the claim, so that its idea of the
// lease's end is never later than the database's. A batch's deadline is that end
// less a margin, which is kept for the settle. After the deadline nothing is
// sent, and no answer that comes later counts.
//
// # What counts as an attempt
//
// The claim charges an attempt, so that the death of a relay counts too. It is
// given back when the record was not to blame: when rows were never handed over,
// and when an outage of the broker left them without an answer. A lease that ends
// in an outage of the database costs none either; the store knows. A refusal of
// the record itself stays charged, and can end in FAILED.
//
// Silence is no proof of an outage: some record may be what the broker never
// answers. So an outage needs a second witness (I10). When entirely other events
// have had no answer either, and nothing was published since, it is one. Else the
// broker's check decides. If the broker is well, the gate stays open and the rows
// without an answer stay charged: they keep their claim until its end, become
// suspects, and end alone. A lone row that has no answer, from a broker whose check
// passes, at its last attempt, is FAILED, and says that it may have been published.
//
// # Pauses
//
// There is a gate for the database and one for the broker; both begin closed. A
// gate opens when its check passes: credentials, connection, table and columns;
// connection, topic and a producer id. It is closed again by whoever meets a
// failure there. Claiming needs both open. While a gate is closed, its keeper
// repeats the check with growing waits, and the report says what is wrong.
//
// # Contexts and stopping
//
// Cancelling the context of Run stops claiming. A claim under way is awaited, not
// cancelled: it may have committed. Batches that no slot has begun are released.
// Sends go on until their deadline or the end of the grace, whichever is first;
// settles have a bounded time of their own after that. Run starts every
// goroutine and returns when the last has ended.
package relay
