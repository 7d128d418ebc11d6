package relay

import (
	"context"
	"reflect"
	"time"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
	"github.com/relayfleet/relayfleet/relay/settings"
)

// examineEvery is how often the table is looked at as a whole.
const examineEvery = 5 * time.Minute

// examine looks at the table as soon as it can be used, and then every few
// minutes. What it finds stops nothing: what does is checked at the gate.
func (o *Opened) examine(ctx context.Context) {
	for o.database.wait(ctx, true) == nil {
		found, err := o.doctor.Examine(ctx)
		switch {
		case err == nil:
			o.events.Examined(found.Findings)
		case ctx.Err() == nil:
			o.events.Warned("examine the table", err)
		}
		if sleep(ctx, examineEvery) != nil {
			return
		}
	}
}

func newDoctor(s settings.Settings, db *outbox.DB, m outbox.Mapping) *schema.Doctor {
	table := outbox.Table{Schema: s.Table.Schema, Name: s.Table.Name}
	use := schema.Use{Order: orderOf(s), Retention: retentionOf(s.Retention), Pooling: outbox.Pooling(s.Database.Pooling), Preset: unchanged(s, m)}
	return schema.New(db, table, m, use)
}

// unchanged names the preset that m is; empty if it is another mapping.
func unchanged(s settings.Settings, m outbox.Mapping) string {
	preset, _ := outbox.Preset(string(s.Mapping.Preset))
	if m.Priority == "" {
		preset.Priority = ""
	}
	if !reflect.DeepEqual(m, preset) {
		return ""
	}
	return string(s.Mapping.Preset)
}
