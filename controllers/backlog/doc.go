// Package backlog asks the relays for their reports, for the leader alone, and
// remembers what they said. One schedule asks every fleet once per interval;
// a reconcile is only woken by it and never waits for it.
//
// A relay is not trusted: it may be slow, hostile, or somebody else who has its
// address now. So a question is bounded in time and size, an answer counts only
// with the identity of the pod that was asked, and its numbers are clamped.
package backlog
