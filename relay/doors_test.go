package relay

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/settings"
)

// What a file may say of a table is refused when it is read exactly when the table's
// store would refuse it: validate, the operator and a relay that starts agree.
func TestReadingAndOpeningRefuseTheSame(t *testing.T) {
	var accepted, refused int
	rapid.Check(t, func(rt *rapid.T) {
		s := parse(t, "")
		s.Mapping = drawMapping(rt)
		if rapid.Bool().Draw(rt, "delete") {
			s.Retention = settings.Retention{Policy: settings.RetentionDelete, Statuses: rapid.SliceOfNDistinct(value, 1, 2, rapid.ID[string]).Draw(rt, "deletable")}
		}
		data, err := settings.Render(s)
		require.NoError(rt, err)
		_, unreadable := settings.Parse(data)
		opened, unopened := Open(s, Options{})
		require.Equal(rt, unreadable == nil, unopened == nil, "reading: %v\nopening: %v\n%s", unreadable, unopened, data)
		if unopened != nil {
			refused++
			return
		}
		accepted++
		opened.Close()
	})
	t.Logf("%d accepted, %d refused", accepted, refused)
	require.Positive(t, min(accepted, refused))
}

// name and value are those of all presets, so that what is unset is met too.
var name, value = rapid.SampledFrom(ofPresets(outbox.Mapping.Slots)), rapid.SampledFrom(ofPresets(states))

func ofPresets(slots func(outbox.Mapping) []outbox.Slot) (words []string) {
	for _, preset := range outbox.Presets() {
		m, _ := outbox.Preset(preset)
		for _, slot := range slots(m) {
			words = append(words, slot.Column)
		}
	}
	return append(words, "another")
}

func states(m outbox.Mapping) (slots []outbox.Slot) {
	for _, state := range []string{m.Ready, m.InProgress, m.Sent, m.Failed} {
		if state != "" {
			slots = append(slots, outbox.Slot{Column: state})
		}
	}
	return slots
}

// drawMapping replaces a few names of a preset, with others or with none.
func drawMapping(t *rapid.T) settings.Mapping {
	m := settings.Mapping{Preset: settings.Preset(rapid.SampledFrom(outbox.Presets()).Draw(t, "preset"))}
	c, st := &m.Columns, &m.Statuses
	columns := []**string{
		&c.Sequence, &c.PartitionKey, &c.Key, &c.Generation, &c.ClaimToken, &c.Attempts, &c.CreatedAt, &c.SentAt, &c.FailedAt, &c.LastError,
		&c.ID, &c.EventID, &c.Payload, &c.Status, &c.LeaseUntil, &c.NextAttemptAt, // These must not be empty.
	}
	for range rapid.IntRange(0, 3).Draw(t, "replaced") {
		at := rapid.IntRange(0, len(columns)-1).Draw(t, "column")
		*columns[at] = new(name.Draw(t, "name"))
		if at < 10 && rapid.Bool().Draw(t, "none") {
			*columns[at] = new("")
		}
	}
	values := []**string{&st.InProgress, &st.Failed, &st.Ready, &st.Sent}
	if rapid.Bool().Draw(t, "other statuses") {
		at := rapid.IntRange(0, len(values)-1).Draw(t, "status")
		*values[at] = new(value.Draw(t, "value"))
		if at < 2 && rapid.Bool().Draw(t, "no status") {
			*values[at] = new("")
		}
	}
	return m
}
