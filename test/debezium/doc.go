// Package debezium compares what a relay publishes with preset Debezium with what
// Debezium's outbox event router makes of the same rows, byte by byte.
//
//	go run ./test/debezium/record    records testdata/ from the real router anew
//	go test ./test/debezium          publishes the rows and compares
//
// The recording runs Debezium with Kafka Connect, a real PostgreSQL and a real
// Kafka. It needs Java and Maven, and is done again when the version changes.
package debezium
