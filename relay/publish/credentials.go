package publish

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
)

// Credentials are what the producers of a relay secure their connections and log
// in with. They share one, so that a changed file is tried once and a token
// serves all.
//
// Credentials are files, which may come late and change. They are read at every
// new session and by Refresh. Content is tried on a connection of its own before
// any producer uses it, and what has worked stays in use until something else
// has worked too: a file that vanishes, is emptied or is wrong takes nothing away.
type Credentials struct {
	config Config
	// turn is held by who tries new content.
	turn    chan struct{}
	helpers sync.WaitGroup

	mu struct {
		sync.Mutex
		// used is what sessions are opened with; nil until something has worked.
		used *candidate
		// failed is what did not work last.
		failed *candidate
	}
}

// candidate is content of the files.
type candidate struct {
	material material
	login    *login
	// failedAt is when it was last tried in vain.
	failedAt time.Time
}

// NewCredentials checks the configuration. It reads no file and connects to
// nothing. It is given to each producer by Config.Credentials, whose servers,
// topic, TLS and Authentication must be the same.
func NewCredentials(c Config) (*Credentials, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("configure the credentials: %w", err)
	}
	return &Credentials{config: c, turn: make(chan struct{}, 1)}, nil
}

// Refresh reads the files and, if they have changed, tries what they say on a
// connection of its own; when that works, each producer connects anew before its
// next batch. It also renews a token in time. It is to be called every few
// seconds. The error, a *Problem or what ended ctx, says what is wrong with the
// files or the new credentials; those in use stay. nil says nothing about the
// broker, only that there is nothing new to say about the credentials.
func (c *Credentials) Refresh(ctx context.Context) error {
	if !c.config.needsCredentials() {
		return nil
	}
	err := c.adopt(ctx, 0)
	if used := c.inUse(); err == nil && used != nil && used.tokens != nil {
		err = used.tokens.renew(ctx)
	}
	return err
}

// Close waits for trials that are still ending. They are bounded.
func (c *Credentials) Close() { waitAtMost(c.config.RequestTimeout, &c.helpers) }

func (c Config) needsCredentials() bool { return c.TLS != nil || c.Authentication != nil }

// retryAfter is how long content that has failed is not tried again by sessions
// that have something better.
const retryAfter = 5 * time.Second

// login is what a new session is to use.
func (c *Credentials) login(ctx context.Context) (*login, error) {
	if !c.config.needsCredentials() {
		return &login{}, nil
	}
	err := c.adopt(ctx, retryAfter)
	used := c.inUse()
	if used == nil {
		return nil, err
	}
	return used, used.prepare(ctx)
}

// inUse is the login of a session that is up to date; nil before any has worked.
func (c *Credentials) inUse() *login {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.used == nil {
		return nil
	}
	return c.mu.used.login
}

// isStale tells whether a session should make room for one with a newer login.
func (c *Credentials) isStale(l *login) bool { return c.config.needsCredentials() && c.inUse() != l }

// adopt makes the files' content the one in use, if it works. Where other content
// is in use, what failed less than pause ago is not tried again.
func (c *Credentials) adopt(ctx context.Context, pause time.Duration) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return fmt.Errorf("try credentials: %w", context.Cause(ctx))
	}
	found, err := c.config.readFiles()
	if err != nil {
		return err
	}
	next := c.candidate(found, pause)
	if next == nil {
		return nil
	}
	if next.login == nil {
		if next.login, err = newLogin(c.config, found); err != nil {
			return err
		}
	}
	err = c.try(ctx, next.login)
	c.settle(next, err)
	if ctx.Err() != nil {
		return fmt.Errorf("try credentials: %w", context.Cause(ctx))
	}
	return err
}

// candidate is what is to be tried: nil for content that is in use, or has failed
// a moment ago.
func (c *Credentials) candidate(found material, pause time.Duration) *candidate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if used := c.mu.used; used != nil && used.material == found {
		c.mu.failed = nil
		return nil
	}
	if failed := c.mu.failed; failed != nil && failed.material == found {
		if c.mu.used != nil && time.Since(failed.failedAt) < pause {
			return nil
		}
		return failed
	}
	return &candidate{material: found}
}

func (c *Credentials) settle(tried *candidate, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.mu.used, c.mu.failed = tried, nil
		return
	}
	tried.failedAt = time.Now()
	c.mu.failed = tried
}

// try asks a broker for the fleet's topic on a connection of its own. Whatever it
// answers, it has let the relay in.
func (c *Credentials) try(ctx context.Context, l *login) error {
	ctx, cancel := context.WithTimeout(ctx, 2*(c.config.RequestTimeout+answerMargin))
	defer cancel()
	if err := l.prepare(ctx); err != nil {
		return err
	}
	s, err := newSession(c.config, l, &c.helpers)
	if err != nil {
		return problemOf("try credentials", err)
	}
	defer s.close()
	at, _ := ctx.Deadline()
	s.gate.arm(event.NewDeadline(at))
	_, err = await(ctx, s, func() (struct{}, error) { return struct{}{}, s.knock() })
	if err == nil {
		l.accepted()
		return nil
	}
	problem := problemOf("try credentials", err)
	if problem.Code == AuthenticationFailed {
		l.refused()
	}
	return problem
}

// waitAtMost waits for the helpers. Only a broker's throttling, or a frozen token
// endpoint, keeps one longer; it ends by itself and has no connection to do
// anything with.
func waitAtMost(d time.Duration, helpers *sync.WaitGroup) {
	ended := make(chan struct{})
	go func() {
		helpers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(d):
	}
}
