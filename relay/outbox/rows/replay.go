package rows

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Key names a row.
type Key struct {
	// ID is the row's key as PostgreSQL prints it, Partition its partition key; empty
	// in a table that is whole.
	ID, Partition string
}

// ErrNoFailed says that the table has no FAILED rows, so that there is nothing to replay.
var ErrNoFailed = errors.New("the table knows no FAILED status")

// Replay makes rows READY again that had FAILED by then, and returns those. They
// are due at once and have all their attempts again. Rows in any other state, or
// that failed later, are left as they are, so that the same call again does
// nothing. It is for one batch; the caller says how many at a time.
func (s *Store) Replay(ctx context.Context, rows []Key, failedBy time.Time) (replayed []Key, err error) {
	if s.config.Mapping.Failed == "" {
		return nil, s.failed(ctx, "replay", ErrNoFailed)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	ids, partitions := make([]string, len(rows)), make([]string, len(rows))
	for i, row := range rows {
		ids[i], partitions[i] = row.ID, row.Partition
	}
	err = s.with(ctx, func(ctx context.Context, conn *pgxpool.Conn, all *statements) error {
		return repeated(func() (err error) {
			replayed, err = query(ctx, s, conn, scanKey, all.replay, nil, all.keys.array(ids), nil, partitions, failedBy)
			return err
		})
	})
	return replayed, s.failed(ctx, "replay", err)
}

func scanKey(row pgx.CollectableRow) (Key, error) {
	var (
		id        key
		partition pgtype.Text
	)
	err := row.Scan(&id, &partition)
	return Key{id.String(), partition.String}, err
}
