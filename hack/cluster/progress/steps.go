// Package progress shows a person what a long command is doing: the name of
// each step, what it expects to take, how far it is, and on failure the end of
// its log and the way to go on. Everything goes to stderr, so that stdout stays
// for machines.
package progress

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Step is one named piece of work.
type Step struct {
	// Name is an imperative phrase: "Build kube-apiserver".
	Name string
	// Expect is how long the step usually takes; 0 leaves it out.
	Expect time.Duration
	// Log is the file whose last lines are shown on failure; empty for none.
	Log string
	// Advice says how to go on after a failure; empty for none.
	Advice string
	// Do is the work. It may report how far it is.
	Do func(ctx context.Context, at *At) error
}

// Steps prints steps as they run.
type Steps struct {
	out      io.Writer
	terminal bool
	every    time.Duration
}

// New writes to out, with a line that moves where out is a terminal and with a
// line each 30 seconds elsewhere.
func New(out io.Writer) *Steps {
	s := &Steps{out: out, every: 30 * time.Second}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.terminal, s.every = true, time.Second
	}
	return s
}

// Say prints one line.
func (s *Steps) Say(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
}

// Run runs the steps in order and stops at the first that fails.
func (s *Steps) Run(ctx context.Context, steps ...Step) error {
	for _, step := range steps {
		if err := s.one(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func (s *Steps) one(ctx context.Context, step Step) error {
	s.Say("==> %s%s", step.Name, expectation(step.Expect))
	at := &At{began: time.Now(), expect: step.Expect}
	stop := s.watch(at)
	err := step.Do(ctx, at)
	stop()
	if err != nil {
		s.explain(step, err)
		return fmt.Errorf("%s: %w", step.Name, err)
	}
	s.Say("    done in %s", short(time.Since(at.began)))
	return nil
}

// watch shows the progress until the returned function is called.
func (s *Steps) watch(at *At) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(s.every)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				s.show(at)
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		if s.terminal {
			fmt.Fprint(s.out, "\r\033[K")
		}
	}
}

func (s *Steps) show(at *At) {
	if s.terminal {
		fmt.Fprintf(s.out, "\r\033[K    %s", at)
		return
	}
	s.Say("    %s", at)
}

func (s *Steps) explain(step Step, err error) {
	s.Say("    FAILED: %v", err)
	if log := logOf(step, err); log != "" {
		s.Say("    the last lines of %s:", log)
		for _, line := range Tail(log, 15) {
			s.Say("      | %s", line)
		}
	}
	if step.Advice != "" {
		s.Say("    to go on: %s", step.Advice)
	}
}

func expectation(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(" (expected: up to %s)", short(d))
}
