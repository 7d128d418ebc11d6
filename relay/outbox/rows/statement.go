package rows

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

// statements are those of one table; those of a claim also depend on its limit.
type statements struct {
	rendering                                                       rendering
	keys                                                            keyType
	durable, read, refused, recover, recoverSuspects, backlog       statement
	settleSent, settleRetry, settleFailed, release, uncharge, renew statement
	abandon, replay, retention, referenced, lockOrdered             statement

	order Order
	// byLimit keeps rendered claims; mu guards it.
	mu      sync.Mutex
	byLimit map[limitedName]statement
}

type limitedName struct {
	name  string
	limit int
}

// maxKept bounds byLimit: limits are few, unless payloads differ wildly in size.
const maxKept = 64

// Order says which rows a claim takes first.
type Order struct {
	// ByKey: an event is never taken before an earlier unresolved one of its key;
	// Halt: nor behind one that has FAILED. The watermark is not used.
	ByKey, Halt bool
	// ByPriority: the larger priority first, but for OldestPercent of each claim,
	// which goes to the rows that have been due longest. Not with ByKey.
	ByPriority    bool
	OldestPercent int
}

func newStatements(table outbox.Table, m outbox.Mapping, shape outbox.Shape, o Order) *statements {
	r := newRendering(table, m, shape).ordered(table, m, shape, o)
	s := &statements{
		rendering:    r,
		keys:         keyTypeOf(shape[m.ID].Type),
		byLimit:      map[limitedName]statement{},
		order:        o,
		durable:      r.render("durable"),
		read:         r.render("read"),
		refused:      r.render("refused"),
		backlog:      r.render("backlog"),
		settleSent:   r.render("settle_sent"),
		settleRetry:  r.render("settle_retry"),
		settleFailed: r.render("settle_failed"),
		release:      r.render("release"),
		renew:        r.render("renew"),
	}
	if m.ClaimToken != "" {
		s.recover = r.render("recover")
		if m.Counter() != "" {
			s.recoverSuspects = r.render("recover_suspects")
		}
	}
	if o.ByKey {
		s.lockOrdered = r.render("lock_ordered")
	}
	if m.Attempts != "" {
		s.uncharge = r.render("uncharge")
	}
	if m.Failed != "" {
		s.replay = r.render("replay")
	}
	if canAbandon(m) {
		s.abandon = r.with("limit", strconv.Itoa(abandonRows)).render("abandon")
	}
	return s
}

// ordered adds what the order of claims asks for.
func (r rendering) ordered(table outbox.Table, m outbox.Mapping, shape outbox.Shape, o Order) rendering {
	r.can["unordered"], r.can["halt"] = !o.ByKey, o.Halt && m.Failed != ""
	r.values["haltedfirst"] = ""
	if r.can["halt"] {
		r.values["haltedfirst"] = `AND NOT EXISTS (SELECT FROM ` + table.SQL() + ` AS f
                      WHERE f.` + quoted(m.Key) + ` OPERATOR(pg_catalog.=) o.` + quoted(m.Key) +
			` AND f.` + quoted(m.Order()) + ` OPERATOR(pg_catalog.<) o.` + quoted(m.Order()) + `
                        AND f.` + quoted(m.Status) + ` OPERATOR(pg_catalog.=) ` + literal(m.Failed) + `)`
	}
	r.values["keytype"] = castName(shape[m.Key].Type)
	r.values["orderclass"] = orderClass
	r.values["ordervalue"] = "o." + quoted(m.Order()) + "::pg_catalog.int8"
	return r
}

// aged is how many rows of a claim by priority go to the oldest.
func (o Order) aged(limit int) int { return max(1, limit*o.OldestPercent/100) }

// lockClass tells this lock from others that are taken on the same table.
const (
	lockClass  = "1919249785::pg_catalog.int8" // "rfly", in ASCII
	orderClass = "1919249775::pg_catalog.int8" // "rflo"
)

func (s *statements) setRetention(r Retention, m outbox.Mapping) {
	with := s.rendering.with("deletable", literal(arrayOf(r.statuses(m)...))).with("limit", strconv.Itoa(purgeRows))
	s.retention, s.referenced = with.render("retention"), with.render("referenced")
}

// abandonRows is how many suspects one claim ends as FAILED at most.
const abandonRows = 500

// canAbandon: the table counts attempts, marks lone claims, and has a FAILED.
func canAbandon(m outbox.Mapping) bool {
	return m.ClaimToken != "" && m.Attempts != "" && m.Failed != ""
}

// limited renders a statement that takes at most limit rows.
func (s *statements) limited(name string, limit int) statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := limitedName{name, limit}
	if kept, ok := s.byLimit[key]; ok {
		return kept
	}
	if len(s.byLimit) >= maxKept {
		clear(s.byLimit)
	}
	s.byLimit[key] = s.rendering.with("limit", strconv.Itoa(limit)).with("agedlimit", strconv.Itoa(s.order.aged(limit))).render(name)
	return s.byLimit[key]
}

func (r rendering) with(hole, value string) rendering {
	values := make(map[string]string, len(r.values)+1)
	maps.Copy(values, r.values)
	values[hole] = value
	r.values = values
	return r
}

// newRendering says how the statements look for one table.
func newRendering(table outbox.Table, m outbox.Mapping, shape outbox.Shape) rendering {
	r := rendering{
		can: map[string]bool{
			"inprogress": m.InProgress != "", "generation": m.Generation != "", "token": m.ClaimToken != "",
			"attempts": m.Attempts != "", "counted": m.Counter() != "", "failed": m.Failed != "", "failedat": m.FailedAt != "",
			"lasterror": m.LastError != "", "whole": m.PartitionKey == "",
		},
		columns: map[string]string{},
	}
	r.values = map[string]string{
		"table":    table.SQL(),
		"regclass": literal(table.SQL()),
		"queue":    quoted(indexName(table, "queue")), "suspects": quoted(indexName(table, "suspects")),
		"failedindex": quoted(indexName(table, "failed")), "retention": quoted(indexName(table, "retention")),
		"ordered": quoted(indexName(table, "ordered")), "halted": quoted(indexName(table, "halted")),
		"priorityindex": quoted(indexName(table, "priority")),
		"failedvalue":   "o." + quoted(orElse(m.FailedAt, m.NextAttemptAt)),
		"lockclass":     lockClass, "sentvalue": "o." + quoted(orElse(m.SentAt, m.NextAttemptAt)), "deletable": literal(arrayOf(m.Sent)),
		"limit": "1", "cap": strconv.Itoa(backlogCap),
		"ready": literal(m.Ready), "inprogress": literal(m.InProgress), "sent": literal(m.Sent), "failed": literal(m.Failed),
		"unresolved": literal(arrayOf(m.Ready, m.InProgress)), "claimedstatus": literal(m.ClaimedStatus()),
		"order": "o." + quoted(m.Order()), "ordername": quoted(m.Order()),
		"counter": "o." + quoted(m.Counter()), "countername": quoted(m.Counter()),
		"sentat": quoted(orElse(m.SentAt, m.NextAttemptAt)), "failedat": quoted(orElse(m.FailedAt, m.NextAttemptAt)),
		"idtype": castName(shape[m.ID].Type), "tokentype": castName(shape[m.ClaimToken].Type),
		"partitiontype": castName(shape[m.PartitionKey].Type),

		"generationvalue":  valueOr(m.Generation, "", "0::pg_catalog.int8"),
		"countervalue":     valueOr(m.Counter(), "::pg_catalog.int8", "0::pg_catalog.int8"),
		"attemptsvalue":    valueOr(m.Attempts, "::pg_catalog.int8", "0::pg_catalog.int8"),
		"tokenvalue":       valueOr(m.ClaimToken, "::pg_catalog.text", "NULL::pg_catalog.text"),
		"partitionvalue":   valueOr(m.PartitionKey, "::pg_catalog.text", "NULL::pg_catalog.text"),
		"createdvalue":     valueOr(m.CreatedAt, "", "NULL::pg_catalog.timestamptz"),
		"topicvalue":       topicValue(m),
		"keyvalue":         valueOr(m.Key, "::pg_catalog.text", "NULL::pg_catalog.text"),
		"headersvalue":     valueOr(m.Headers, "::pg_catalog.text", "NULL::pg_catalog.text"),
		"contenttypevalue": contentType(m, shape),
		"extravalues":      extraValues(m),
		"payload":          payload(m, shape),
	}
	for _, s := range m.Slots() {
		r.columns[s.Name] = quoted(s.Column)
		if _, taken := r.values[s.Name]; !taken {
			r.values[s.Name] = quoted(s.Column)
		}
	}
	return r
}

// indexName keeps within PostgreSQL's limit for names.
func indexName(table outbox.Table, suffix string) string {
	const longest = 63 - len("_suspects")
	name := table.Name
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "")
	}
	return name + "_" + suffix
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// literal is a string constant; its type follows from where it stands, so that
// it fits text, numbers and enums alike.
func literal(value string) string {
	if strings.Contains(value, `\`) {
		return `E'` + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(value) + `'`
	}
	return `'` + strings.ReplaceAll(value, `'`, `''`) + `'`
}

// arrayOf is the text of an array of the values that are not empty.
func arrayOf(values ...string) string {
	var elements []string
	for _, v := range values {
		if v != "" {
			elements = append(elements, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v)+`"`)
		}
	}
	return "{" + strings.Join(elements, ",") + "}"
}

func orElse(column, other string) string {
	if column == "" {
		return other
	}
	return column
}

func valueOr(column, cast, missing string) string {
	if column == "" {
		return missing
	}
	return "o." + quoted(column) + cast
}

// castName is the name of a type for a cast; format_type's own would be looked
// up on the search path.
func castName(formatted string) string {
	names := map[string]string{
		"bigint": "int8", "integer": "int4", "smallint": "int2", "numeric": "numeric", "boolean": "bool", "uuid": "uuid", "date": "date",
		"timestamp with time zone": "timestamptz", "timestamp without time zone": "timestamp",
	}
	if name, ok := names[formatted]; ok {
		return "pg_catalog." + name
	}
	return "pg_catalog.text"
}

// payload is bytes or text: what is sent is what PostgreSQL prints.
func payload(m outbox.Mapping, shape outbox.Shape) string {
	if shape[m.Payload].Type == "bytea" {
		return "o." + quoted(m.Payload)
	}
	return "o." + quoted(m.Payload) + "::pg_catalog.text"
}

// contentType is the column that names it, or follows from the payload's type.
func contentType(m outbox.Mapping, shape outbox.Shape) string {
	if m.ContentType != "" {
		return "o." + quoted(m.ContentType) + "::pg_catalog.text"
	}
	switch shape[m.Payload].Type {
	case "json", "jsonb":
		return "'application/json'::pg_catalog.text"
	case "text", "character varying":
		return "'text/plain; charset=utf-8'::pg_catalog.text"
	}
	return "NULL::pg_catalog.text"
}

func topicValue(m outbox.Mapping) string {
	if m.TopicTemplate != "" {
		return "NULL::pg_catalog.text"
	}
	return valueOr(m.Topic, "::pg_catalog.text", "NULL::pg_catalog.text")
}

// extraValues are the columns of headers, then those of the topic, as text.
func extraValues(m outbox.Mapping) string {
	var values []string
	for _, h := range m.HeaderColumns {
		values = append(values, "o."+quoted(h.Column)+"::pg_catalog.text")
	}
	for _, part := range m.TopicParts() {
		if part.Column != "" {
			values = append(values, "o."+quoted(part.Column)+"::pg_catalog.text")
		}
	}
	if len(values) == 0 {
		return "NULL::pg_catalog.text[]"
	}
	return "ARRAY[" + strings.Join(values, ", ") + "]"
}

// Index is an index that a statement relies on.
type Index struct {
	// Name is its name, not quoted; Create the statement that makes it.
	Name, Create string
	// Serves says which statements need it, in one phrase.
	Serves string
}

// Indexes are those without which a statement reads all of the table.
func Indexes(table outbox.Table, m outbox.Mapping) []Index {
	r := newRendering(table, m, nil)
	indexes := []Index{{indexName(table, "queue"), r.render("index").sql, "claims and the backlog"}}
	if m.Counter() != "" {
		indexes = append(indexes, Index{indexName(table, "suspects"), r.render("index_suspects").sql, "claims of suspects"})
	}
	if m.Failed != "" {
		indexes = append(indexes, Index{indexName(table, "failed"), r.render("index_failed").sql, "FAILED rows"})
	}
	return indexes
}

// RetentionIndex is what Purge relies on.
func RetentionIndex(table outbox.Table, m outbox.Mapping, r Retention) Index {
	rendered := newRendering(table, m, nil).with("deletable", literal(arrayOf(r.statuses(m)...))).render("index_retention")
	return Index{indexName(table, "retention"), rendered.sql, "the deletion of published rows"}
}

// OrderIndexes are what claims in an order rely on beside Indexes.
func OrderIndexes(table outbox.Table, m outbox.Mapping, o Order) []Index {
	r := newRendering(table, m, nil)
	var indexes []Index
	if o.ByKey {
		indexes = append(indexes, Index{indexName(table, "ordered"), r.render("index_ordered").sql, "claims in the order of keys"})
	}
	if o.ByKey && o.Halt && m.Failed != "" {
		indexes = append(indexes, Index{indexName(table, "halted"), r.render("index_halted").sql, "keys that a FAILED event halts"})
	}
	if o.ByPriority {
		indexes = append(indexes, Index{indexName(table, "priority"), r.render("index_priority").sql, "claims by priority"})
	}
	return indexes
}

// CreateIndexes are the statements of Indexes.
func CreateIndexes(table outbox.Table, m outbox.Mapping) string {
	var text strings.Builder
	for _, index := range Indexes(table, m) {
		fmt.Fprintf(&text, "%s\n", index.Create)
	}
	return text.String()
}
