package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relayfleet/relayfleet/relay"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
	"github.com/relayfleet/relayfleet/relay/settings"
)

func newSchema() *cobra.Command {
	c := &cobra.Command{Use: "schema", Short: "Looks after the table: prints it, checks it, and creates what is missing"}
	c.AddCommand(newSchemaPrint(), newSchemaCheck(), newSchemaApply())
	return c
}

func newSchemaPrint() *cobra.Command {
	var preset, table, role string
	var byKey, byPriority, retention bool
	c := &cobra.Command{
		Use:   "print --preset NAME",
		Short: "Prints the table of a preset, its indexes and its grants; needs no database",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			use := schema.Use{Order: rows.Order{ByKey: byKey, Halt: byKey, ByPriority: byPriority}}
			if retention {
				use.Retention = &rows.Retention{}
			}
			text, err := printed(preset, table, role, use)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.OutOrStdout(), text)
			return err
		},
	}
	c.Flags().StringVar(&preset, "preset", "", strings.Join(outbox.Presets(), ", ")+" (required)")
	c.Flags().StringVar(&table, "table", "public.outbox", "the table, schema.name")
	c.Flags().StringVar(&role, "role", "relayfleet", "the relays' role, which gets the grants")
	c.Flags().BoolVar(&byKey, "ordering-key", false, "with what ordering.mode Key needs")
	c.Flags().BoolVar(&byPriority, "priority", false, "with what priority.enabled needs")
	c.Flags().BoolVar(&retention, "retention", false, "with what retention.policy Delete needs")
	_ = c.MarkFlagRequired("preset") // The flag exists: it stands a few lines up.
	return c
}

func printed(preset, name, role string, use schema.Use) (string, error) {
	table := outbox.Table{Schema: "public", Name: name}
	if before, after, found := strings.Cut(name, "."); found {
		table = outbox.Table{Schema: before, Name: after}
	}
	if table.Schema == "" || table.Name == "" {
		return "", fmt.Errorf("--table %q is not schema.name", name)
	}
	return schema.Print(preset, table, role, use)
}

func newSchemaCheck() *cobra.Command {
	var config, output string
	var watch time.Duration
	c := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Prints all that is wrong with a relay's table, and what mends it",
		Long: "Prints all that is wrong with a relay's table, and what mends it. It connects as the relay does, reads a bounded\n" +
			"number of rows and writes none. It exits with 1 when something would keep a relay from working.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("--output %q is neither text nor json", output)
			}
			doctor, end, err := openDoctor(config, "")
			if err != nil {
				return err
			}
			defer end()
			found, err := doctor.Watch(c.Context(), watch)
			if err != nil {
				return err
			}
			return errors.Join(writeReport(c.OutOrStdout(), output, found), verdict(found))
		},
	}
	c.Flags().StringVar(&config, "config", "", "the relay's settings file (required)")
	c.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	c.Flags().DurationVar(&watch, "watch", 0, "look twice, so far apart: some things are seen only in what has changed")
	_ = c.MarkFlagRequired("config") // The flag exists: it stands four lines up.
	return c
}

func newSchemaApply() *cobra.Command {
	var config, uri string
	var changes schema.Changes
	c := &cobra.Command{
		Use:   "apply --config FILE --uri-file FILE",
		Short: "Creates what a relay's table lacks",
		Long: "Creates what a relay's table lacks: the table of a preset, columns, constraints, indexes (CONCURRENTLY, so that writers\n" +
			"go on), settings of autovacuum, and grants if a role is named. It prints each statement before it runs it. It changes\n" +
			"no row, and drops nothing but indexes that are not valid.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			doctor, end, err := openDoctor(config, uri)
			if err != nil {
				return err
			}
			defer end()
			changes.Show = func(statement string) { fmt.Fprintln(c.OutOrStdout(), strings.TrimSpace(statement)) }
			left, err := doctor.Apply(c.Context(), changes)
			if err != nil || changes.DryRun {
				return err
			}
			return errors.Join(writeReport(c.ErrOrStderr(), "text", left), verdict(left))
		},
	}
	c.Flags().StringVar(&config, "config", "", "the relay's settings file (required)")
	c.Flags().StringVar(&uri, "uri-file", "", "a file with the connection URI of the table's owner (required)")
	c.Flags().StringVar(&changes.Role, "role", "", "the relays' role, which gets the grants (default: nobody)")
	c.Flags().BoolVar(&changes.DryRun, "dry-run", false, "print the statements and run none")
	c.Flags().BoolVar(&changes.WithoutConstraints, "without-constraints", false, "leave constraints out, while something writes the table that does not keep them")
	for _, name := range []string{"config", "uri-file"} {
		_ = c.MarkFlagRequired(name) // The flags exist: they stand a few lines up.
	}
	return c
}

func openDoctor(config, adminURIFile string) (*schema.Doctor, func(), error) {
	s, err := settings.Load(config)
	if err != nil {
		return nil, nil, err
	}
	return relay.OpenDoctor(s, adminURIFile)
}

func verdict(r schema.Report) error {
	if err := schema.Blocks(r.Findings); err != nil {
		return fmt.Errorf("the table cannot serve: %w", err)
	}
	return nil
}

func writeReport(w io.Writer, format string, r schema.Report) error {
	if format == "json" {
		if r.Findings == nil {
			r.Findings = []schema.Finding{} // Nothing was found, which is not nothing known.
		}
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(r)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "PostgreSQL %s, role %s, synchronous_commit %s, isolation %s\n",
		r.Server.Version, r.Server.Role, r.Server.SynchronousCommit, r.Server.Isolation)
	for _, f := range r.Findings {
		fmt.Fprintf(&text, "\n%s %s: %s\n  %s\n", f.Severity, f.Code, f.Message, f.Advice)
		for _, statement := range f.Statements {
			fmt.Fprintf(&text, "    %s\n", strings.ReplaceAll(strings.TrimSpace(statement), "\n", "\n    "))
		}
	}
	if len(r.Findings) == 0 {
		text.WriteString("nothing is wrong\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
