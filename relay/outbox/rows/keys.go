package rows

import (
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"
)

// keyType is the type of the primary key, as far as it matters on the way: ids
// are text here, whatever they are there, and travel as what they are there.
type keyType int

const (
	textKeys keyType = iota
	numberKeys
	uuidKeys
)

func keyTypeOf(formatted string) keyType {
	switch formatted {
	case "bigint", "integer":
		return numberKeys
	case "uuid":
		return uuidKeys
	}
	return textKeys
}

// array is the parameter for some ids. They came from the database by key.Scan,
// so they can be parsed.
func (k keyType) array(ids []string) any {
	switch k {
	case numberKeys:
		numbers := make([]int64, len(ids))
		for i, id := range ids {
			numbers[i], _ = strconv.ParseInt(id, 10, 64)
		}
		return numbers
	case uuidKeys:
		uuids := make([]pgtype.UUID, len(ids))
		for i, id := range ids {
			_ = uuids[i].Scan(id)
		}
		return uuids
	case textKeys:
	}
	return ids
}

// key reads one id as text, whatever its type is.
type key string

// ScanInt64 implements pgtype.Int64Scanner.
func (k *key) ScanInt64(v pgtype.Int8) error {
	*k = key(strconv.FormatInt(v.Int64, 10))
	return nil
}

// ScanUUID implements pgtype.UUIDScanner.
func (k *key) ScanUUID(v pgtype.UUID) error {
	*k = key(v.String())
	return nil
}

// ScanText implements pgtype.TextScanner.
func (k *key) ScanText(v pgtype.Text) error {
	*k = key(v.String)
	return nil
}

var (
	_ pgtype.Int64Scanner = (*key)(nil)
	_ pgtype.UUIDScanner  = (*key)(nil)
	_ pgtype.TextScanner  = (*key)(nil)
	_ fmt.Stringer        = key("")
)

func (k key) String() string { return string(k) }
