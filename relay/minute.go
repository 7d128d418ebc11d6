package relay

import (
	"time"

	"github.com/relayfleet/relayfleet/relay/report"
)

// lastMinute adds rates up over the last 60 whole seconds and the current one.
type lastMinute struct {
	seconds [61]struct {
		second int64
		rates  report.Rates
	}
}

func (m *lastMinute) add(now time.Time, r report.Rates) {
	second := now.Unix()
	slot := &m.seconds[second%int64(len(m.seconds))]
	if slot.second != second {
		slot.second, slot.rates = second, report.Rates{}
	}
	slot.rates = slot.rates.Add(r)
}

func (m *lastMinute) sum(now time.Time) report.Rates {
	var total report.Rates
	for _, slot := range m.seconds {
		if age := now.Unix() - slot.second; age >= 0 && age <= 60 {
			total = total.Add(slot.rates)
		}
	}
	return total
}
