package rows

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/relayfleet/relayfleet/relay/event"
)

// What is said of headers that cannot be sent. The row is claimed all the same,
// so that it can end as FAILED, where it is seen, instead of standing in the
// way of each claim.
const (
	headersNotAnObject = "headers is not a JSON object"
	headersNotStrings  = "headers has a value that is not a string"
)

// parseHeaders turns a JSON object of strings into headers, sorted by name so
// that each attempt sends the same record. SQL NULL, which the Relayfleet table
// forbids, is no headers.
func parseHeaders(data []byte) (headers []event.Header, invalid string) {
	if len(data) == 0 || bytes.Equal(data, []byte("{}")) {
		return nil, ""
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return nil, headersNotAnObject
	}
	for name, raw := range object {
		var value *string
		if err := json.Unmarshal(raw, &value); err != nil || value == nil {
			return nil, headersNotStrings
		}
		headers = append(headers, event.Header{Key: name, Value: []byte(*value)})
	}
	slices.SortFunc(headers, func(a, b event.Header) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
	return headers, ""
}
