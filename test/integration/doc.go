// Package integration runs real relay processes against a real PostgreSQL and a
// real Kafka, each of its own on loopback, and holds what the relays report, and
// what became of every event, against what is promised.
//
// Tests that stop a shared server come first, one after the other; all others
// run beside each other.
package integration
