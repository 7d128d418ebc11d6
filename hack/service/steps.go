package service

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Steps shows what is being done, how long it has taken and how long it is expected to take. The zero value is silent.
type Steps struct {
	// Out gets the lines. On a terminal the running time counts up; elsewhere a step has a line at its start and end.
	Out io.Writer
}

// Do runs one step. A usual of zero says nothing about how long it takes.
func (s Steps) Do(name string, usual time.Duration, step func() error) error {
	if s.Out == nil {
		return step()
	}
	began := time.Now()
	head := name
	if usual > 0 {
		head = fmt.Sprintf("%s (usually %s)", name, usual)
	}
	stop := s.show(head, began)
	err := step()
	stop()
	outcome := "done in"
	if err != nil {
		outcome = "FAILED after"
	}
	fmt.Fprintf(s.Out, "%s: %s %.1f s\n", name, outcome, time.Since(began).Seconds())
	return err
}

// show prints the head of a step and, on a terminal, its running time until the returned function is called.
func (s Steps) show(head string, began time.Time) (stop func()) {
	f, ok := s.Out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(s.Out, "%s ...\n", head)
		return func() {}
	}
	finish, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			fmt.Fprintf(f, "\r%s ... %d s ", head, int(time.Since(began).Seconds()))
			select {
			case <-finish:
				fmt.Fprint(f, "\r\x1b[K")
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(finish); <-finished }
}

// Failure is a service that did not start, with what helps to find out why.
type Failure struct {
	// Err is what went wrong.
	Err error
	// Log is the last lines of the service's log; empty when it wrote none.
	Log []string
	// WayOn says what to do next, as a sentence.
	WayOn string
}

// Error is the cause alone; Explain has the rest.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Explain writes an error for a person: what happened and, where known, the log's last lines and the way to go on.
func Explain(w io.Writer, err error) {
	fmt.Fprintf(w, "error: %v\n", err)
	var failure *Failure
	if !errors.As(err, &failure) {
		return
	}
	if len(failure.Log) > 0 {
		fmt.Fprintf(w, "the log's last lines:\n  %s\n", strings.Join(failure.Log, "\n  "))
	}
	if failure.WayOn != "" {
		fmt.Fprintln(w, failure.WayOn)
	}
}

// Tail is the last count lines of a file; nil when it cannot be read.
func Tail(file string, count int) []string {
	text, err := os.ReadFile(file)
	if err != nil || len(text) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return lines[max(0, len(lines)-count):]
}
