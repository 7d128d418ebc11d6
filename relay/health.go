package relay

import (
	"errors"
	"slices"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/publish"
	"github.com/relayfleet/relayfleet/relay/report"
)

// finding is what an error says about the subject that it came from.
type finding struct {
	code  report.Code
	slots []string
}

// findingOf explains an error of a subject.
func findingOf(s Subject, err error) finding {
	if s == Broker {
		return brokerFinding(err)
	}
	return databaseFinding(err)
}

func (f finding) equals(o finding) bool { return f.code == o.code && slices.Equal(f.slots, o.slots) }

// databaseFinding explains an error of the store or of the database's check.
func databaseFinding(err error) finding {
	problem := outbox.Classify(err)
	return finding{report.Code(problem.Code), problem.Slots}
}

// brokerFinding explains an error of a publisher or of the broker's check.
func brokerFinding(err error) finding {
	if problem, ok := errors.AsType[*publish.Problem](err); ok {
		return finding{report.Code(problem.Code), problem.Slots}
	}
	return finding{code: report.BrokerFailed}
}

// aboutSchema: the database can be reached, and its table cannot serve.
func (f finding) aboutSchema() bool {
	return slices.Contains([]report.Code{
		report.TableMissing, report.ColumnsMissing, report.ColumnsMistyped, report.PermissionDenied,
		report.ColumnsUnwritable, report.IDNotUnique, report.StatusNotAllowed, report.RowSecurity,
	}, f.code)
}
