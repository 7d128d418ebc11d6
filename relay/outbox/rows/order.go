package rows

import (
	"errors"
	"fmt"

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

// problem says what the table cannot do: order needs a number that rises with
// every insert.
func (o Order) problem(m outbox.Mapping, shape outbox.Shape) *outbox.Problem {
	if !o.ByKey {
		return nil
	}
	switch kind := shape[m.Order()].Type; kind {
	case "bigint", "integer", "smallint":
		return nil
	default:
		return &outbox.Problem{Code: outbox.ColumnsMistyped, Slots: []string{"sequence"}, Err: fmt.Errorf(
			"order by key needs a number that rises with every insert, and %q is of type %s: map columns.sequence", m.Order(), kind)}
	}
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
