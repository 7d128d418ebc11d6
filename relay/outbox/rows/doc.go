// Package rows is the store that writes a claim into each row: status,
// generation, token and lease. What each statement does, and why it has the
// form that it has, stands in its .sql file; the protocol stands in package
// outbox.
//
// Each file is a statement that can be run as it is, against the Relayfleet
// table. For another table it is rendered (template.go): comments name what
// depends on the mapping, and what stands for it in the Relayfleet table follows
// them.
//
//	FROM /*table*/public.outbox AS o           a hole and its value
//	o.status                                   a column, by its name in that table
//	/*due:*/(CASE ... END)/*:due*/             a fragment, the same in many files
//	/*if attempts*/attempts = ...,/*end*/      only where the table can do that
//	/*if token*/... /*else ...*/               the other case stands in the comment
//
// What the rendered statements are for each preset stands in testdata.
package rows
