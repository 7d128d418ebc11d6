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

// Apply makes what the examination finds missing: the table of an unchanged
// preset, columns that can be added to a table with rows, constraints, indexes,
// and settings of autovacuum. Nothing that is there is changed or dropped, but
// for an index that is not valid. The DB has to be the owner's.
//
// Each statement is shown before it is run; with dryRun it is only shown. What
// stays is in the report. grantee, if it is not empty, gets the grants of a
// relay's role.
func (d *Doctor) Apply(ctx context.Context, dryRun bool, grantee string, show func(statement string)) (Report, error) {
	done := map[string]bool{}
	report, err := Report{}, error(nil)
	for range maxRounds {
		if report, err = d.Examine(ctx); err != nil {
			return report, err
		}
		statements := creations(report, done)
		if len(statements) == 0 {
			break
		}
		if err := d.run(ctx, statements, dryRun, show); err != nil {
			return report, err
		}
		if dryRun {
			break
		}
	}
	if grantee == "" {
		return report, nil
	}
	return report, d.run(ctx, []string{d.Grants(grantee)}, dryRun, show)
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
func creations(r Report, done map[string]bool) (statements []string) {
	for _, f := range r.Findings {
		for _, statement := range f.Statements {
			if f.creates && !done[statement] {
				statements, done[statement] = append(statements, statement), true
			}
		}
	}
	return statements
}

func (d *Doctor) run(ctx context.Context, statements []string, dryRun bool, show func(string)) error {
	if dryRun {
		for _, statement := range statements {
			show(statement)
		}
		return nil
	}
	conn, err := d.db.Pool().Acquire(ctx)
	if err != nil {
		return d.db.Failed(err)
	}
	defer conn.Release()
	for _, statement := range statements {
		show(statement)
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
