package rows

import (
	"errors"
	"fmt"
	"slices"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

// validate says what the mapping cannot do.
func (o Order) validate(m outbox.Mapping) error {
	switch {
	case o.ByKey && o.ByPriority:
		return errors.New("order by key contradicts priority: an urgent event would overtake earlier ones of its key")
	case o.ByKey && m.Key == "":
		return errors.New("order by key needs columns.key")
	case o.ByPriority && m.Priority == "":
		return errors.New("priority needs columns.priority")
	}
	return nil
}

// Problem says what the table cannot do: order needs a number that rises with
// every insert.
func (o Order) Problem(m outbox.Mapping, shape outbox.Shape) *outbox.Problem {
	column := shape[m.Order()]
	var why string
	switch {
	case !o.ByKey:
		return nil
	case !slices.Contains([]string{"bigint", "integer", "smallint"}, column.Type):
		why = fmt.Sprintf("is of type %s: map columns.sequence", column.Type)
	case column.Scattered:
		why = "is not drawn from one sequence over all partitions: make it an identity of the partitioned table, " +
			"or let the table and its partitions have the same sequence for a default"
	case column.Shuffled:
		why = "has a sequence that falls, or that hands out numbers in blocks to each session: give it CACHE 1 and a positive INCREMENT"
	default:
		return nil
	}
	return &outbox.Problem{Code: outbox.ColumnsMistyped, Slots: []string{"sequence"}, Err: fmt.Errorf(
		"order by key needs a number that rises with every insert, and %q %s", m.Order(), why)}
}

// claimStatement is the file of the ordinary claim.
func (o Order) claimStatement() string {
	switch {
	case o.ByKey:
		return "claim_ordered"
	case o.ByPriority:
		return "claim_priority"
	}
	return "claim"
}
