package schema

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

// lockPatience is how long a change of the table waits for its lock: everybody
// who comes later waits behind it.
const lockPatience = 3 * time.Second

// maxRounds bounds how often Apply looks again: what was missing can hide what
// else is missing.
const maxRounds = 5

// Changes say what Apply may do.
type Changes struct {
	// DryRun: the statements are shown and not run.
	DryRun bool
	// Role gets the grants of a relay's role; empty: nobody does.
	Role string
	// WithoutConstraints leaves those out: for as long as something writes the table
	// that does not keep them.
	WithoutConstraints bool
	// Show is told each statement before it is run.
	Show func(statement string)
}

// Apply makes what the examination finds missing: the table of an unchanged
// preset, columns that can be added to a table with rows, constraints, indexes,
// and settings of autovacuum. Nothing else that is there is changed, or dropped,
// but for an index that is not valid. The DB has to be the owner's. What stays is
// in the report.
func (d *Doctor) Apply(ctx context.Context, c Changes) (Report, error) {
	done := map[string]bool{}
	report, err := Report{}, error(nil)
	for range maxRounds {
		if report, err = d.Examine(ctx); err != nil {
			return report, err
		}
		statements := c.creations(report, done)
		if len(statements) == 0 {
			break
		}
		if err := d.run(ctx, statements, c); err != nil {
			return report, err
		}
		if c.DryRun {
			break
		}
	}
	if c.Role == "" {
		return report, nil
	}
	return report, d.run(ctx, []string{d.Grants(c.Role)}, c)
}

// Grants are what a relay's role needs, for what is asked of the table.
func (d *Doctor) Grants(role string) string {
	text := Grants(d.table, d.mapping, role)
	if d.use.Retention != nil {
		text += fmt.Sprintf("GRANT DELETE ON TABLE %s TO %s;\n", d.table.SQL(), quoted(role))
	}
	return text
}

// creations are the statements that only add, and that were not tried before.
func (c Changes) creations(r Report, done map[string]bool) (statements []string) {
	for _, f := range r.Findings {
		if c.WithoutConstraints && (f.Code == LeaseUnchecked || f.Code == FailedUnchecked) {
			continue
		}
		for _, statement := range f.Statements {
			if f.creates && !done[statement] {
				statements, done[statement] = append(statements, statement), true
			}
		}
	}
	return statements
}

func (d *Doctor) run(ctx context.Context, statements []string, c Changes) error {
	if c.DryRun {
		for _, statement := range statements {
			c.Show(statement)
		}
		return nil
	}
	conn, err := d.db.Pool().Acquire(ctx)
	if err != nil {
		return d.db.Failed(err)
	}
	defer conn.Release()
	for _, statement := range statements {
		c.Show(statement)
		// One that works beside writers waits for them by locks of theirs: for as long as it takes.
		patience := lockPatience
		if strings.Contains(statement, "CONCURRENTLY") || strings.Contains(statement, "VALIDATE") {
			patience = 0
		}
		for _, sql := range []string{fmt.Sprintf("SET lock_timeout = %d", patience.Milliseconds()), statement} {
			if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("%s: %w", firstLine(statement), d.db.Failed(err))
			}
		}
	}
	return nil
}

func firstLine(statement string) string {
	line, _, more := strings.Cut(strings.TrimSpace(statement), "\n")
	if more {
		line += " ..."
	}
	return line
}

// AdminConfig is a relay's configuration with another role's connection URI, and
// without its limit of time: an index takes as long as it takes.
func AdminConfig(c outbox.Config, uriFile string) outbox.Config {
	const aDay = 24 * time.Hour
	c.URIFile, c.StatementTimeout, c.LockTimeout = uriFile, aDay, lockPatience
	c.CertificateFile, c.PrivateKeyFile = "", "" // They are the relay's role's.
	c.ApplicationName, c.Pooling, c.MaxConnections = "relayfleet schema", outbox.SessionPooling, 4
	return c
}
