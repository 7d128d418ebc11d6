package rows

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

// outages are when the database could not be reached, on its own clock. A lease
// that ended then says nothing of its rows: nobody could settle or renew. So the
// next claim does not charge them again, and does not take them for the killers
// of their relays. Each relay notes what it has met itself: one that was not
// there, or that has never claimed, charges what it finds.
type outages struct {
	// contact is the database's time of the last claim; zero: none yet.
	contact time.Time
	// met: since then the database could not be reached.
	met  bool
	past []period
}

// period is later than from, and not later than to.
type period struct{ from, to time.Time }

// maxPeriods bounds what is remembered: what expired in an outage is claimed
// soon after it.
const maxPeriods = 16

// isOutage: the database did not answer, or not as one that can be used. Errors
// of a statement are none, because a row may be what causes them.
func isOutage(code string) bool {
	switch code {
	case outbox.Unreachable, outbox.ReadOnly, outbox.TLSFailed, outbox.AuthenticationFailed, outbox.DatabaseMissing:
		return true
	}
	return false
}

// claiming is what Claim says that it was doing.
const claiming = "claim"

// isLockedOut: a claim passes over rows that are locked, so one that waits for a
// lock in vain waits for the table, and nobody can settle or renew.
func isLockedOut(err error) bool {
	const lockNotAvailable = "55P03"
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && server.Code == lockNotAvailable
}

// claimed notes that the database has answered a claim at that time of its own.
func (o *outages) claimed(now time.Time) {
	if o.met && !o.contact.IsZero() && now.After(o.contact) {
		o.past = append(o.past, period{o.contact, now})
		o.past = slices.Delete(o.past, 0, max(0, len(o.past)-maxPeriods))
	}
	o.contact, o.met = now, false
}

// text is what a claim that is sent now has to know, as a multirange of times.
func (o *outages) text() string {
	known := slices.Clone(o.past)
	if o.met && !o.contact.IsZero() {
		known = append(known, period{from: o.contact})
	}
	var texts []string
	for _, p := range known {
		to := ""
		if !p.to.IsZero() {
			to = p.to.UTC().Format(time.RFC3339Nano)
		}
		texts = append(texts, "("+p.from.UTC().Format(time.RFC3339Nano)+","+to+"]")
	}
	return "{" + strings.Join(texts, ",") + "}"
}
