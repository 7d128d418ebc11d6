// Package lab holds the recovery experiment from which the protocol comes, run
// over every preset: a worker that is killed after its committed claim, an open
// claim that is rolled back, and four ways in which an owner can come too late.
//
// Each scenario runs for two workers: the store of the project, which passes all
// of them, and an intentionally unsafe baseline, which claims READY rows only and
// guards its updates by id and status alone. The baseline fails exactly the
// scenarios that leases and generations are for; so the scenarios can fail.
//
// Beyond the six: what the database cannot know, a worker that stops between the
// broker's acknowledgment and its own SENT; the publisher's life cycle with a
// consumer's states; the token protocol; and a random history of workers
// (machine_test.go) whose counterexamples become scenarios of their own.
package lab
