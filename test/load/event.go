package load

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Event is one event of the load.
type Event struct {
	// ID is a uuid of version 7: the identity.
	ID  uuid.UUID
	Key string
	// Payload begins with the identity, so that a consumer can compare it with
	// the header.
	Payload []byte
	// Due is how long after its insert it may be published.
	Due time.Duration
}

const (
	payloadStart = `{"event":"`
	payloadFill  = `","fill":"`
	payloadEnd   = `"}`
	idLength     = 36
	// minPayload is what an event's payload has besides its filling.
	minPayload = len(payloadStart) + idLength + len(payloadFill) + len(payloadEnd)
)

// filling is text that compresses no better than real data would.
var filling = func() []byte {
	var b bytes.Buffer
	for b.Len() < 64<<10 {
		b.WriteString(rand.Text())
	}
	return b.Bytes()
}()

// NewEvent makes an event with a new identity and a payload of that many bytes,
// or a few more where that is too small for the identity.
func NewEvent(key string, payloadBytes int) Event {
	id := uuid.Must(uuid.NewV7())
	fill := max(0, payloadBytes-minPayload)
	payload := make([]byte, 0, minPayload+fill)
	payload = fmt.Appendf(payload, "%s%s%s", payloadStart, id, payloadFill)
	for at := int(id[15]) << 4; fill > 0; at = 0 {
		piece := filling[at:min(at+fill, len(filling))]
		payload = append(payload, piece...)
		fill -= len(piece)
	}
	return Event{ID: id, Key: key, Payload: append(payload, payloadEnd...)}
}

// payloadID is the identity in a payload, or the payload's beginning when it is
// none of this package's.
func payloadID(payload []byte) string {
	id, ours := bytes.CutPrefix(payload, []byte(payloadStart))
	if !ours {
		id = payload
	}
	return string(id[:min(len(id), idLength)])
}
