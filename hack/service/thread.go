package service

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// onSpareThread runs f on a thread that is lost for anything else afterwards, and returns at once. It is never the
// process's main thread: that one's network namespace is taken for the process's own, so whoever ends all that runs in a
// namespace would end this process too.
func onSpareThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			f()
			return
		}
		// As long as this goroutine holds the main thread, no other one gets it.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			runtime.LockOSThread()
			f()
		}()
		<-ended
		runtime.UnlockOSThread()
	}()
}
