package controllers

import (
	"fmt"
	"strings"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/backlog"
	"github.com/relayfleet/relayfleet/controllers/scaling"
	"github.com/relayfleet/relayfleet/relay/report"
)

// finding is what the relays together say of one thing that they depend on.
type finding struct {
	// code is OK, Unchecked when none has said, or what is wrong.
	code  report.Code
	slots []string
	// affected of answered relays say so.
	affected, answered int
}

func databaseFinding(o backlog.Observation) finding {
	return findingOf(o, func(r report.Report) report.Health { return r.Database })
}

func schemaFinding(o backlog.Observation) finding {
	return findingOf(o, func(r report.Report) report.Health { return r.Schema })
}

func brokerFinding(o backlog.Observation) finding {
	return findingOf(o, func(r report.Report) report.Health { return r.Broker })
}

// findingOf takes the trouble that most relays have. A relay that has not looked
// yet says nothing; one that is well does not hide another's trouble.
func findingOf(o backlog.Observation, pick func(report.Report) report.Health) finding {
	found := finding{code: report.Unchecked}
	troubles := map[report.Code]*finding{}
	for _, answer := range o.Answers {
		health := pick(answer.Report)
		if health.Code == report.Unchecked {
			continue
		}
		found.answered++
		if health.Code == report.OK {
			continue
		}
		found.affected++
		if troubles[health.Code] == nil {
			troubles[health.Code] = &finding{slots: health.Slots}
		}
		troubles[health.Code].affected++
	}
	if found.answered > 0 {
		found.code = report.OK
	}
	most := 0
	for _, code := range report.Codes() {
		if t := troubles[code]; t != nil && t.affected > most {
			found.code, found.slots, most = code, t.slots, t.affected
		}
	}
	return found
}

// availability is what the finding means to the size of the fleet: as long as
// one relay gets through, another one can too.
func availability(f finding) scaling.Availability {
	switch {
	case f.answered == 0:
		return scaling.Unknown
	case f.affected == f.answered:
		return scaling.Unavailable
	default:
		return scaling.Available
	}
}

// gravity says whose turn it is.
type gravity int

const (
	// outage passes by itself. It has a condition of its own and leaves Ready
	// alone once relays have started.
	outage gravity = iota
	// misconfigured is not ready until something is created or corrected; that
	// may well be on its way, as when objects are applied in any order.
	misconfigured
	// needsHuman does not pass: Ready is False and the resource is Stalled.
	needsHuman
)

// advice is what a code means: the reason of the condition, and a sentence that
// says what to do. The sentences are made from the spec, never from a report.
type advice struct {
	reason   string
	gravity  gravity
	sentence func(spec *v1alpha1.OutboxRelaySpec, slots []string) string
}

func says(text string) func(*v1alpha1.OutboxRelaySpec, []string) string {
	return func(*v1alpha1.OutboxRelaySpec, []string) string { return text }
}

var databaseAdvice = map[report.Code]advice{
	report.CredentialsMissing: {"CredentialsMissing", misconfigured, missingSources},
	report.CredentialsInvalid: {"CredentialsInvalid", needsHuman, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return sources(spec) + " cannot be read: write a URI as postgresql://user:password@host:port/database, and certificates as PEM"
	}},
	report.TLSTooWeak: {"TLSTooWeak", needsHuman, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return uriSource(spec) + " asks for a weaker sslmode than spec.database.tls.mode: raise the one or lower the other"
	}},
	report.TLSFailed: {"DatabaseTLSFailed", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "the database's certificate is not accepted, or it speaks no TLS: check spec.database.tls and " + trust(spec)
	}},
	report.AuthenticationFailed: {"DatabaseAuthenticationFailed", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "the database refuses user or password: correct them in " + uriSource(spec)
	}},
	report.Unreachable: {"DatabaseUnreachable", outage, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "no connection to the database: check that it runs, host and port in " + uriSource(spec) + ", and network policies"
	}},
	report.DatabaseMissing: {"DatabaseMissing", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "the server has no database of the name in " + uriSource(spec) + ": create it, or correct the name"
	}},
	report.ReadOnly: {"DatabaseReadOnly", outage, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "the database takes no writes: it is a standby, or set read-only; let the host in " + uriSource(spec) + " be the primary"
	}},
	report.DatabaseFailed: {"DatabaseFailed", outage, says("the database refuses statements: see the logs of the relays and of the database")},
	report.PoolingMismatch: {"PoolingMismatch", needsHuman, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "a pooler in transaction mode stands before the database: set spec.database.pooling to Transaction, or let " + uriSource(spec) + " lead past it"
	}},
}

var schemaAdvice = map[report.Code]advice{
	report.TableMissing: {"TableMissing", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "table " + table(spec) + " does not exist: create it, correct spec.table, or grant USAGE on its schema"
	}},
	report.ColumnsMissing: {"ColumnsMissing", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, slots []string) string {
		return "table " + table(spec) + " lacks columns" + named(slots) + ": add them"
	}},
	report.ColumnsMistyped: {"ColumnsMistyped", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, slots []string) string {
		return "table " + table(spec) + " has columns of a type that cannot serve" + named(slots) + ": change their types"
	}},
	report.PermissionDenied: {"PermissionDenied", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "the database user may not use table " + table(spec) + ": grant SELECT and UPDATE on it and USAGE on its schema"
	}},
	report.ColumnsUnwritable: {"ColumnsUnwritable", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, slots []string) string {
		return "table " + table(spec) + " has columns that a claim cannot write" + named(slots) + ": they are generated, or refuse NULL"
	}},
	report.IDNotUnique: {"IDNotUnique", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "nothing keeps the ids of table " + table(spec) + " apart: make the id its primary key"
	}},
	report.StatusNotAllowed: {"StatusNotAllowed", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "table " + table(spec) + " refuses a status of spec.mapping, by the column's type or by a CHECK: let it take the value, or correct the mapping"
	}},
	report.RowSecurity: {"RowSecurity", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "row security decides which rows of table " + table(spec) + " the database user sees: let it pass over the policies, or disable them"
	}},
}

var brokerAdvice = map[report.Code]advice{
	report.Unreachable: {"BrokerUnreachable", outage, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "no connection to " + servers(spec) + ": check that the broker runs, spec.kafka.bootstrapServers, its advertised addresses, and network policies"
	}},
	report.TopicMissing: {"TopicMissing", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "the broker does not have " + topic(spec) + ": create it, or correct spec.topic"
	}},
	report.TopicForbidden: {"TopicForbidden", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "the broker does not allow writing to " + topic(spec) + ": grant Write and Describe on it"
	}},
	report.CredentialsMissing: {"BrokerCredentialsMissing", misconfigured, brokerCredentialsMissing},
	report.CredentialsInvalid: {"BrokerCredentialsInvalid", needsHuman, brokerCredentialsInvalid},
	report.TLSFailed: {"BrokerTLSFailed", misconfigured, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return "no TLS connection to " + servers(spec) + ": its certificate is not accepted, or it speaks no TLS"
	}},
	report.AuthenticationFailed: {"BrokerAuthenticationFailed", misconfigured, brokerRefusesLogin},
	report.BrokerFailed: {"BrokerFailed", outage, func(spec *v1alpha1.OutboxRelaySpec, _ []string) string {
		return servers(spec) + " answers and refuses: see the logs of the relays and of the broker"
	}},
}

// unexpected is for a code that means nothing here, as from a newer relay.
var unexpected = advice{"Failed", outage, says("the relays report trouble that this version of the operator does not know: see their logs")}

func adviceFor(table map[report.Code]advice, code report.Code) advice {
	if a, known := table[code]; known {
		return a
	}
	return unexpected
}

// say is the sentence of the advice, with how many relays it is about.
func (a advice) say(spec *v1alpha1.OutboxRelaySpec, f finding) string {
	text := a.sentence(spec, f.slots)
	if f.affected < f.answered {
		text = fmt.Sprintf("%d of %d relays: %s", f.affected, f.answered, text)
	}
	return text
}

func uriSource(spec *v1alpha1.OutboxRelaySpec) string {
	return objectKey("Secret", spec.Database.URIFrom.SecretKeyRef)
}

func caSource(spec *v1alpha1.OutboxRelaySpec) string {
	return certificateObject(spec.Database.TLS.CAFrom)
}

func objectKey(kind string, ref v1alpha1.KeyReference) string {
	return fmt.Sprintf("%s %q with key %q", kind, ref.Name, ref.Key)
}

func sources(spec *v1alpha1.OutboxRelaySpec) string {
	if ca := caSource(spec); ca != "" {
		return uriSource(spec) + " or " + ca
	}
	return uriSource(spec)
}

func missingSources(spec *v1alpha1.OutboxRelaySpec, slots []string) string {
	all := databaseSources(spec)
	if len(all) == 1 {
		slots = []string{slotURI}
	}
	objects, fields := meant(all, slots)
	if len(objects) == 0 {
		return sources(spec) + " is missing: create it, or correct spec.database"
	}
	return fmt.Sprintf("%s is missing: create it, or correct %s", strings.Join(objects, " and "), strings.Join(fields, " and "))
}

func trust(spec *v1alpha1.OutboxRelaySpec) string {
	if ca := caSource(spec); ca != "" {
		return ca
	}
	return "name its CA in spec.database.tls.caFrom"
}

func table(spec *v1alpha1.OutboxRelaySpec) string {
	t := spec.EffectiveTable()
	return fmt.Sprintf("%q", t.Schema+"."+t.Name)
}

// topic is where events go; there is no name for it where each row has its own.
func topic(spec *v1alpha1.OutboxRelaySpec) string {
	if spec.Topic == "" {
		return "the topics that rows name"
	}
	return fmt.Sprintf("topic %q", spec.Topic)
}

func servers(spec *v1alpha1.OutboxRelaySpec) string {
	list := spec.Kafka.BootstrapServers
	if len(list) > 3 {
		return strings.Join(list[:3], ", ") + ", ..."
	}
	return strings.Join(list, ", ")
}

func named(slots []string) string {
	if len(slots) == 0 {
		return ""
	}
	return " " + strings.Join(slots, ", ")
}
