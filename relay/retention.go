package relay

import (
	"context"
	"time"
)

// Purge deletes a few published rows and says whether there may be more.
type Purge func(ctx context.Context) (deleted int, more bool, err error)

const (
	// purgeEvery is how often it is looked for rows to delete. It is jittered, so
	// that the relays of a fleet take turns.
	purgeEvery = 15 * time.Second
	// purgeShare is how long deleting rests for each span that it took: claims of
	// the same table come first.
	purgeShare = 2
)

// retain deletes published rows, if anything is to be deleted at all, until ctx
// ends. It is nobody's way: it starts when the database can be used, and a
// failure is told and tried again.
func (r *Relay) retain(ctx context.Context) {
	if r.config.Purge == nil {
		return
	}
	for sleep(ctx, purgeEvery) == nil && r.database.wait(ctx, true) == nil {
		for more := true; more && ctx.Err() == nil; {
			more = r.purgeOnce(ctx)
		}
	}
}

func (r *Relay) purgeOnce(ctx context.Context) (more bool) {
	begin := time.Now()
	deleted, more, err := r.config.Purge(ctx)
	took := time.Since(begin)
	switch {
	case err == nil && deleted > 0:
		r.events.Purged(deleted, took)
	case err != nil && ctx.Err() == nil:
		r.events.Warned("delete published rows", err)
	}
	return err == nil && more && sleep(ctx, purgeShare*took) == nil
}
