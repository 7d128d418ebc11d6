// Package load is the verifying load: it puts known events into an outbox, takes
// them out of the topic, and says what became of each.
//
// A Producer commits business rows (orders) and outbox rows in one transaction,
// and rolls some transactions back. A Consumer reads the topic and writes a
// receipt by event id. A Checker compares orders, outbox and receipts: an order
// without a receipt is lost, a receipt without an order is a phantom, and a
// second delivery is a duplicate, which a recorded fault explains or does not.
//
// All that is known stands in the database, in tables beside the outbox. So
// memory stays small however long a run is, and producer, consumer and checker
// may be different processes and may be restarted.
package load
