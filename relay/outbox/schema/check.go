// Package schema looks after the table: what it must have, what it lacks, and
// how to make it. It creates nothing by itself.
package schema

import (
	"context"
	"fmt"
	"time"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

// patience bounds the whole check.
const patience = 15 * time.Second

// Check looks whether the table can serve, and returns an *outbox.Problem when
// it cannot, or when the database cannot be asked. It names everything of one
// kind at once: first all that is missing, then all that has a wrong type, then
// all that the role may not read or write.
func Check(ctx context.Context, db *outbox.DB, table outbox.Table, m outbox.Mapping) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	shape, err := outbox.ReadShape(ctx, db.Pool(), table)
	if err != nil {
		return fmt.Errorf("check the table: %w", db.Failed(err))
	}
	if problem := m.Find(shape); problem != nil {
		return fmt.Errorf("check the table: %w", problem)
	}
	return nil
}
