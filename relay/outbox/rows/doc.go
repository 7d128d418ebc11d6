// Package rows is the store that writes a claim into each row: status,
// generation, token and lease. What each statement does, and why it has the
// form that it has, stands in its .sql file; the protocol stands in package
// outbox.
//
// A statement is rendered by filling its holes. A hole is a comment that names
// it, directly followed by what stands for it in the Relayfleet table:
//
//	FROM /*table*/public.outbox AS o
//
// so that each file is a statement that can be run as it is.
package rows
