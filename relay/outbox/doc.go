// Package outbox reaches the database that holds an outbox: connections,
// credentials, and what an error is about. The stores are in the rooms below
// it: rows writes claims into the rows themselves; schema says whether a table
// can serve; outboxtest is the suite that every store must pass.
//
// # The protocol
//
// A row is claimed, published, settled. Between claim and settle no transaction
// is open, because nobody knows how long a broker takes; so whatever protects a
// claimed row has to be written down in the database.
//
// Claim. One statement picks due rows, locks them against other claims, and
// commits them as INPROGRESS with three things: a generation that is one
// higher, a random token that the relay has made, and the time at which the
// lease ends. The attempt is charged here and not when an outcome is known: a
// relay that dies reports nothing, and a record that kills relays must use up
// its budget all the same (I3). The claim's commit is made durable whatever the
// role's synchronous_commit says, and nothing of a batch is used before that
// commit is known (I4). Payloads are read after it, in chunks, so that a relay
// which is stopped while it reads holds no lock.
//
// Lease. While it lasts nobody else claims the row. When it has ended, anybody
// may: a dead relay's rows need nobody to free them. The database's clock alone
// decides, in the statement that asks. The relay counts the same span from
// before it sent the claim, on its own clock, and so always thinks of less.
//
// Fence. A relay can be stopped for an hour and go on as if nothing had been. So
// every later statement names what it believes to own, and changes a row only
// while all of it holds at the moment at which the row is looked at: the id,
// INPROGRESS, this generation, this token, a lease that has not ended (I2).
// A statement that finds less is never followed by one that asks for less. Of
// an event that is already at the broker nothing can be taken back; its second
// appearance carries the same identity (I5).
//
// Lost commits are why the generation alone is not a fence. After a fail-over to
// a standby that had not received the claim, or a crash without a durable
// commit, the row is READY with the old generation, and the next claim gives
// out the same generation again; the first owner's settle would be accepted.
// Its token is not.
//
// Lost answers. A connection may break between a commit and its answer. A claim
// in that state holds rows that no relay knows of: the relay looks for its own
// token before its next claim and gives them back, attempts included. A settle
// in that state is simply repeated; rows that it had already recorded are
// recognised and counted as such.
//
// Settle, retry, release, renew. A settle records outcomes: SENT, READY with a
// persisted delay, or FAILED. A release gives back what was never handed over,
// with its attempt; at a shutdown the rows become due at once, in an outage they
// keep their due time, because their age goes on. Rows that were handed over
// without an answer keep their claim, and get back the attempt only. A renewal
// makes a living lease begin anew; it never revives one that has ended. All of
// them work on sets and look the rows up in the order of their keys, so that two
// of them never lock the same rows in a different order. Of rows that were refused
// the store looks once at what they are now and counts why: already recorded by
// us, moved on by a consumer, or not ours any more.
//
// Outages. A lease that ends while nobody can reach the database says nothing of
// its row. A store notes from when to when it had no contact, on the database's
// clock; a claim of what expired then charges no further attempt, whoever held it,
// and abandons nothing. A relay that was not there to notice charges as usual.
//
// Replay. A FAILED row that somebody has repaired the cause of becomes READY again,
// due at once, with all its attempts and a new generation. Only rows that are
// FAILED, and had failed by a time that the caller names, are touched, so that a
// replay that is repeated does nothing more.
//
// # Grants
//
// The role of a relay needs USAGE on the schema, SELECT on the table, and UPDATE
// on the columns of the claim: status, generation, claim_token, attempts,
// lease_until, next_attempt_at, sent_at, failed_at, last_error. It needs no
// INSERT, no DELETE, and cannot change what an event says. schema.Grants prints
// the statements.
//
// # Errors
//
// Every exported function returns errors that Classify understands. Their texts
// never hold a password or a connection URI.
package outbox
