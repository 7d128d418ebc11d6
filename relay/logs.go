package relay

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
)

// Logs returns Events that write what a person who runs the relay needs to know.
// Batches that went well are not logged; no payload, key or credential ever is.
func Logs(log *slog.Logger) Events {
	var examined []string // Examined has one caller.
	return Events{
		Examined: func(findings []schema.Finding) {
			var messages []string
			for _, f := range findings {
				messages = append(messages, f.Message)
				if !slices.Contains(examined, f.Message) {
					log.Warn("Found at the table: "+f.Message, "code", f.Code, "advice", f.Advice, "statements", strings.Join(f.Statements, " "))
				}
			}
			examined = messages
		},
		Claimed: func(b event.Batch, _ time.Duration) {
			if b.Abandoned > 0 {
				log.Error("Events were given up: their relays ended while they held them, alone", "events", b.Abandoned)
			}
		},
		Renewed: func(done event.Settled) {
			if done.Stale > 0 {
				log.Warn("A claim was lost while its events were being sent; the sends are cut", "stale", done.Stale, "kept", done.Renewed)
			}
		},
		Suspected: func(b event.Batch, err error) {
			log.Warn("The broker gave no answer for a batch and is well; one of its events may be the cause", "events", len(b.Events), "error", err)
		},
		Partitioned: func(now, before int) {
			if before > 0 {
				log.Warn("The topic has another number of partitions; later events of a key may go to another one", "partitions", now, "before", before)
			}
		},
		Heard: func(err error) {
			if err != nil {
				log.Warn("Notifications are not heard; the table is polled instead", "error", err)
				return
			}
			log.Info("Notifications are heard")
		},
		Announced: func(yes bool) {
			if !yes {
				log.Warn("New rows come without a notification; the table is polled instead. Is there a trigger that notifies the channel?")
				return
			}
			log.Info("New rows come with a notification")
		},
		Purged: func(deleted int, took time.Duration) {
			log.Debug("Published rows were deleted after their window", "rows", deleted, "took", took.String())
		},
		Published: func(b event.Batch, outcomes []event.Outcome, took time.Duration, _ error) {
			if kinds := countKinds(outcomes); kinds[event.Published] != len(b.Events) {
				log.Warn("Part of a batch was not published", "events", len(b.Events),
					"published", kinds[event.Published], "refused", kinds[event.Refused], "rejected", kinds[event.Rejected],
					"unsent", kinds[event.Unsent], "unanswered", kinds[event.Unknown], "took", took.String())
			}
		},
		Settled: func(_ event.Batch, done event.Settled, _ time.Duration) {
			if done.Failed+done.Refused() > 0 {
				log.Warn("Part of a batch was not recorded as sent", "failed", done.Failed,
					"stale", done.Stale, "alreadyMine", done.AlreadyMine, "overtaken", done.Overtaken)
			}
		},
		Abandoned: func(_ event.Batch, rows int, err error) {
			log.Error("Outcomes could not be recorded; the rows are left to their lease", "rows", rows, "error", err)
		},
		Paused: func(s Subject, err error) {
			log.Warn("Claiming pauses", "because", s, "error", err)
		},
		Resumed: func(s Subject, paused time.Duration) {
			log.Info("Usable", "what", s, "after", paused.Round(time.Millisecond).String())
		},
		Warned: func(doing string, err error) {
			log.Warn("Failed, and goes on", "doing", doing, "error", err)
		},
	}
}

func countKinds(outcomes []event.Outcome) map[event.OutcomeKind]int {
	kinds := map[event.OutcomeKind]int{}
	for _, o := range outcomes {
		kinds[o.Kind]++
	}
	return kinds
}
