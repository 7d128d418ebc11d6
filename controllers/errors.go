package controllers

import (
	"errors"
	"time"
)

// A phase ends in one of three ways beside success: blockedError needs a human,
// waitingError needs time, and any other error is tried again with back-off.

// blockedError is what only a human can mend. The resource becomes Stalled with
// its reason and message; nothing is retried in a hurry.
type blockedError struct{ reason, message string }

func (e *blockedError) Error() string { return e.reason + ": " + e.message }

// waitingError passes by itself.
type waitingError struct{ reason, message string }

func (e *waitingError) Error() string { return e.reason + ": " + e.message }

const (
	// retryWaiting is when to look again at what passes by itself.
	retryWaiting = 5 * time.Second
	// retryBlocked is when to look again at what nothing tells of: somebody
	// else's object has gone, say.
	retryBlocked = time.Minute
	// safetyNet is when a resource is looked at although nothing happened.
	safetyNet = 10 * time.Minute
)

// isRetried says whether err is for the queue's back-off.
func isRetried(err error) bool {
	var blocked *blockedError
	var waiting *waitingError
	return err != nil && !errors.As(err, &blocked) && !errors.As(err, &waiting)
}
