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
// bottleneck, and claims that contend for it cost more than they bring.
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
// and when the broker gave no answer. Only a refusal of the record itself stays
// charged, and only it can end in FAILED.
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
