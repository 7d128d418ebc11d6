// Package bench measures one relay. It reports and asserts no speed; that
// nothing is lost on the way is asserted.
//
// `make bench` runs all of it, each benchmark once over its own 200,000 rows:
//
//   - Kafka: a relay process from PostgreSQL to a real Kafka.
//   - DatabaseOnly: the same relay with a publisher that answers at once, which
//     is the limit that the database sets on the same machine in the same run.
//
// Database, broker and relay share the machine, so a figure is worth something
// only beside another of the same run.
package bench
