package rows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/event"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
	"github.com/relayfleet/relayfleet/relay/outbox/rows"
)

// orderedTable is a Relayfleet table whose stores keep an order.
type orderedTable struct {
	table
	order rows.Order
}

func openOrdered(t *testing.T, o rows.Order) orderedTable {
	t.Helper()
	d := orderedTable{open(t, "Relayfleet", outbox.Table{Schema: "public", Name: "outbox"}), o}
	d.createIndexes(t)
	return d
}

// openPartitionedOrdered is openOrdered over a table whose keys are spread over
// partitions.
func openPartitionedOrdered(t *testing.T, o rows.Order) orderedTable {
	t.Helper()
	d := orderedTable{open(t, "Relayfleet", outbox.Table{Schema: "public", Name: "outbox"}), o}
	d.Mapping.PartitionKey = "event_id"
	database.Exec(t, d.Owner, `ALTER TABLE outbox RENAME TO whole; CREATE SEQUENCE ids;
		CREATE TABLE outbox (LIKE whole INCLUDING DEFAULTS, PRIMARY KEY (id, event_id)) PARTITION BY HASH (event_id);
		DROP TABLE whole; ALTER TABLE outbox ALTER id SET DEFAULT nextval('ids')`)
	for n := range 3 {
		database.Exec(t, d.Owner, fmt.Sprintf("CREATE TABLE part%d PARTITION OF outbox FOR VALUES WITH (MODULUS 3, REMAINDER %d)", n, n))
	}
	database.Exec(t, d.Owner, rows.CreateIndexes(d.Table, d.Mapping)+"GRANT SELECT, UPDATE ON outbox TO "+d.Role)
	d.createIndexes(t)
	return d
}

// openings are the tables that an order is kept over.
var openings = map[string]func(*testing.T, rows.Order) orderedTable{"whole": openOrdered, "partitioned": openPartitionedOrdered}

func (d orderedTable) createIndexes(t *testing.T) {
	t.Helper()
	for _, index := range rows.OrderIndexes(d.Table, d.Mapping, d.order) {
		database.Exec(t, d.Owner, index.Create)
	}
}

func (d orderedTable) Store(t *testing.T) outboxtest.Store { t.Helper(); return d.store(t) }

func (d orderedTable) store(t testing.TB) *rows.Store {
	t.Helper()
	store, err := rows.New(d.Open(t), rows.Config{Table: d.Table, Mapping: d.Mapping, Lease: outboxtest.Lease, Order: d.order})
	require.NoError(t, err)
	return store
}

func TestStoreThatKeepsAnOrder(t *testing.T) {
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			outboxtest.Exercise(t, func(t *testing.T) outboxtest.Table { return openOrdered(t, order) })
		})
	}
	t.Run("partitioned", func(t *testing.T) {
		outboxtest.Exercise(t, func(t *testing.T) outboxtest.Table { return openPartitionedOrdered(t, orders["halting"]) })
	})
}

func TestOrderThatCannotBeKept(t *testing.T) {
	m := outbox.Relayfleet()
	_, err := rows.New(nil, rows.Config{Mapping: m, Order: rows.Order{ByKey: true, ByPriority: true}})
	require.ErrorContains(t, err, "contradicts")
	m.Key = ""
	_, err = rows.New(nil, rows.Config{Mapping: m, Order: rows.Order{ByKey: true}})
	require.ErrorContains(t, err, "columns.key")

	d := database.NewPreset(t, "Token", outbox.Table{Schema: "public", Name: "delivery_outbox"})
	store, err := rows.New(d.Open(t), rows.Config{Table: d.Table, Mapping: d.Mapping, Lease: outboxtest.Lease, Order: rows.Order{ByKey: true}})
	require.NoError(t, err)
	_, err = store.Claim(t.Context(), event.Ask{Rows: 1})
	problem := outbox.Classify(err)
	require.Equal(t, outbox.ColumnsMistyped, problem.Code)
	require.Equal(t, []string{"sequence"}, problem.Slots)
	require.ErrorContains(t, err, "map columns.sequence")
}

// Numbers that may fall from one insert to the next are no order: of partitions
// with sequences of their own, or without any, and of sequences in blocks.
func TestNumbersThatDoNotRiseAreNoOrder(t *testing.T) {
	for name, test := range map[string]struct{ ddl, refused string }{
		"an identity":              {"", ""},
		"an identity in blocks":    {"ALTER TABLE own ALTER no SET CACHE 20", "CACHE 1"},
		"an identity that falls":   {"ALTER TABLE own ALTER no SET INCREMENT -1 SET MINVALUE -9 SET START 0", "positive INCREMENT"},
		"a default":                {"ALTER TABLE own ALTER no DROP IDENTITY; CREATE SEQUENCE ids; ALTER TABLE own ALTER no SET DEFAULT nextval('ids')", ""},
		"a partition with its own": {"CREATE SEQUENCE ids; ALTER TABLE own ALTER no DROP IDENTITY; ALTER TABLE own ALTER no SET DEFAULT nextval('ids'); CREATE SEQUENCE others; ALTER TABLE today ALTER no SET DEFAULT nextval('others')", "over all partitions"},
		"a default of partitions":  {"ALTER TABLE own ALTER no DROP IDENTITY; CREATE SEQUENCE ids; ALTER TABLE ONLY today ALTER no SET DEFAULT nextval('ids')", "over all partitions"},
		"the application's":        {"ALTER TABLE own ALTER no DROP IDENTITY", "over all partitions"},
		"a column beside it":       {`ALTER TABLE own ALTER no DROP IDENTITY; CREATE SEQUENCE ids; ALTER TABLE own ADD seq bigint DEFAULT nextval('ids'); GRANT SELECT ON own TO PUBLIC`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := mapped("0", "1", "2", "3")
			m.PartitionKey = "born"
			d := orderedTable{ownTable(t, partitionedTable, m), rows.Order{ByKey: true}}
			database.Exec(t, d.Owner, test.ddl)
			if strings.Contains(test.ddl, "ADD seq") {
				d.Mapping.Sequence = "seq"
			}
			_, err := d.store(t).Claim(t.Context(), event.Ask{Rows: 1})
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.refused)
			require.Equal(t, []string{"sequence"}, outbox.Classify(err).Slots)
			_, err = newStore(t, d.Database).Claim(t.Context(), event.Ask{Rows: 1})
			require.NoError(t, err, "without an order it does not matter")
		})
	}
}

// put inserts an event of a key; due is from now on, in milliseconds.
func (d orderedTable) put(t *testing.T, key any, due int) (id int64) {
	t.Helper()
	return database.Query[int64](t, d.Owner, `INSERT INTO outbox (event_id, key, next_attempt_at)
		VALUES (gen_random_uuid(), $1, clock_timestamp() + $2 * interval '1 ms') RETURNING id`, key, due)
}

func taken(t *testing.T, store *rows.Store, ask event.Ask) []string {
	t.Helper()
	b, err := store.Claim(t.Context(), ask)
	require.NoError(t, err)
	ids := []string{}
	for _, e := range b.Events {
		ids = append(ids, e.Row)
	}
	return ids
}

func texts(ids ...int64) []string {
	list := []string{}
	for _, id := range ids {
		list = append(list, fmt.Sprint(id))
	}
	return list
}

// A due time that is later than a younger row's does not change the order, an
// earlier row that is not due holds the later ones, and rows without a key are
// held by nobody.
func TestAClaimTakesPrefixesOfKeys(t *testing.T) {
	for kind, open := range openings {
		t.Run(kind, func(t *testing.T) { testAClaimTakesPrefixesOfKeys(t, open) })
	}
}

func testAClaimTakesPrefixesOfKeys(t *testing.T, open func(*testing.T, rows.Order) orderedTable) {
	const hour = 3_600_000
	d := open(t, rows.Order{ByKey: true, Halt: true})
	a1, a2 := d.put(t, "a", -100), d.put(t, "a", -5000)
	waits, held := d.put(t, "b", hour), d.put(t, "b", -9000)
	free := d.put(t, nil, -10)
	d.put(t, nil, hour)
	store := d.store(t)
	require.Equal(t, texts(a1, a2, free), taken(t, store, event.Ask{Rows: 10}))
	require.Empty(t, taken(t, store, event.Ask{Rows: 10}), "what is in flight holds its key")
	a3 := d.put(t, "a", -1)
	require.Empty(t, taken(t, store, event.Ask{Rows: 10}))
	database.Exec(t, d.Owner, "UPDATE outbox SET status = 'SENT', lease_until = NULL WHERE id IN ($1, $2)", a1, a2)
	database.Exec(t, d.Owner, "UPDATE outbox SET next_attempt_at = now() WHERE id = $1", waits)
	require.Equal(t, texts(waits, held, a3), taken(t, store, event.Ask{Rows: 10}))
}

// The limit cuts by order: what is taken of a key is always its beginning, also
// when the oldest due row is not its first.
func TestALimitLeavesPrefixes(t *testing.T) {
	for kind, open := range openings {
		t.Run(kind, func(t *testing.T) { testALimitLeavesPrefixes(t, open) })
	}
}

func testALimitLeavesPrefixes(t *testing.T, open func(*testing.T, rows.Order) orderedTable) {
	d := open(t, rows.Order{ByKey: true})
	first, second, third := d.put(t, "a", -1), d.put(t, "a", -2), d.put(t, "a", -9000)
	require.Equal(t, texts(first), taken(t, d.store(t), event.Ask{Rows: 1}))
	database.Exec(t, d.Owner, "UPDATE outbox SET status = 'SENT', lease_until = NULL WHERE id = $1", first)
	require.Equal(t, texts(second, third), taken(t, d.store(t), event.Ask{Rows: 2}))
}

func TestAFailedEventHaltsItsKeyOrIsSkipped(t *testing.T) {
	for halt, want := range map[bool]struct{ before, after int }{true: {0, 2}, false: {1, 1}} {
		d := openOrdered(t, rows.Order{ByKey: true, Halt: halt})
		failed := d.put(t, "a", -2)
		d.put(t, "a", -1)
		database.Exec(t, d.Owner, "UPDATE outbox SET status = 'FAILED', failed_at = now() WHERE id = $1", failed)
		require.Len(t, taken(t, d.store(t), event.Ask{Rows: 10}), want.before)
		database.Exec(t, d.Owner, "UPDATE outbox SET status = 'READY', failed_at = NULL, next_attempt_at = now() WHERE id = $1", failed)
		require.Len(t, taken(t, d.store(t), event.Ask{Rows: 10}), want.after)
	}
}

// A row locked by others ends its key's prefix: nothing behind it is taken.
func TestALockedRowEndsItsPrefix(t *testing.T) {
	for kind, open := range openings {
		t.Run(kind, func(t *testing.T) { testALockedRowEndsItsPrefix(t, open) })
	}
}

func testALockedRowEndsItsPrefix(t *testing.T, open func(*testing.T, rows.Order) orderedTable) {
	d := open(t, rows.Order{ByKey: true})
	first, locked, behind := d.put(t, "a", -3), d.put(t, "a", -2), d.put(t, "a", -1)
	holder := d.Connect(t, database.Owner)
	tx, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM outbox WHERE id = $1 FOR UPDATE", locked)
	require.NoError(t, err)
	got := taken(t, d.store(t), event.Ask{Rows: 10})
	require.NotContains(t, got, fmt.Sprint(behind))
	require.Equal(t, texts(first), got)
	require.NoError(t, tx.Rollback(t.Context()))
}

// What is locked is one row, not every row of its id.
func TestALockedRowIsKnownByItsPartitionToo(t *testing.T) {
	d := openPartitionedOrdered(t, rows.Order{ByKey: true})
	database.Exec(t, d.Owner, `INSERT INTO outbox (id, event_id, key, next_attempt_at) SELECT id, gen_random_uuid(), key, now() - interval '1 s'
		FROM (VALUES (1, 'a'), (1, 'b'), (2, 'b')) AS v (id, key)`)
	tx, err := d.Connect(t, database.Owner).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM outbox WHERE id = 1 AND key = 'b' FOR UPDATE")
	require.NoError(t, err)
	require.Equal(t, texts(1), taken(t, d.store(t), event.Ask{Rows: 10}), "the one of key a")
	require.NoError(t, tx.Rollback(t.Context()))
}

// A FAILED event holds the suspects of its key as it holds all others.
func TestAFailedEventHaltsTheSuspectsOfItsKey(t *testing.T) {
	for halt, want := range map[bool]int{true: 0, false: 1} {
		d := openOrdered(t, rows.Order{ByKey: true, Halt: halt})
		first := d.put(t, "a", -2)
		d.put(t, "a", -1)
		for range 2 {
			require.Len(t, taken(t, d.store(t), event.Ask{Rows: 10}), 2)
			database.Exec(t, d.Owner, "UPDATE outbox SET lease_until = clock_timestamp() WHERE status = 'INPROGRESS'")
		}
		database.Exec(t, d.Owner, "UPDATE outbox SET status = 'FAILED', failed_at = now(), lease_until = NULL WHERE id = $1", first)
		require.Len(t, taken(t, d.store(t), event.Ask{Rows: 10, Suspects: true, MaxAttempts: 10}), want)
	}
}

// Suspects hold their key, and only the first of a key is claimed as one.
func TestSuspectsKeepTheOrder(t *testing.T) {
	for kind, open := range openings {
		t.Run(kind, func(t *testing.T) { testSuspectsKeepTheOrder(t, open) })
	}
}

func testSuspectsKeepTheOrder(t *testing.T, open func(*testing.T, rows.Order) orderedTable) {
	d := open(t, rows.Order{ByKey: true})
	store := d.store(t)
	first, second := d.put(t, "a", -2), d.put(t, "a", -1)
	for range 2 {
		require.Equal(t, texts(first, second), taken(t, store, event.Ask{Rows: 10}))
		database.Exec(t, d.Owner, "UPDATE outbox SET lease_until = clock_timestamp() WHERE status = 'INPROGRESS'")
	}
	d.put(t, "a", -1)
	require.Empty(t, taken(t, store, event.Ask{Rows: 10}), "a suspect holds what comes after it")
	require.Equal(t, texts(first), taken(t, store, event.Ask{Rows: 10, Suspects: true, MaxAttempts: 10}))
	require.Empty(t, taken(t, store, event.Ask{Rows: 10, Suspects: true, MaxAttempts: 10}))
}

// A row that nobody will ever take, because it has no lease or no due time, holds
// its key, and is not taken along with it.
func TestARowWithoutATimeHoldsItsKey(t *testing.T) {
	for kind, open := range openings {
		for what, change := range map[string]string{
			"lease": "status = 'INPROGRESS', lease_until = NULL", "due time": "next_attempt_at = NULL",
		} {
			t.Run(kind+" "+what, func(t *testing.T) {
				d := open(t, rows.Order{ByKey: true})
				database.Exec(t, d.Owner, "ALTER TABLE outbox ALTER next_attempt_at DROP NOT NULL")
				before, stranded := d.put(t, "a", -3), d.put(t, "a", -2)
				d.put(t, "a", -1)
				database.Exec(t, d.Owner, "UPDATE outbox SET "+change+" WHERE id = $1", stranded)
				require.Equal(t, texts(before), taken(t, d.store(t), event.Ask{Rows: 10}))
			})
		}
	}
}

// The larger priority first, and a share for those that have waited longest.
func TestPriorityAndItsShareForTheOldest(t *testing.T) {
	d := openOrdered(t, rows.Order{ByPriority: true, OldestPercent: 20})
	old := d.put(t, "old", -60_000)
	urgent := make([]int64, 20)
	for i := range urgent {
		urgent[i] = d.put(t, "urgent", -1000+i)
		database.Exec(t, d.Owner, "UPDATE outbox SET priority = 9 WHERE id = $1", urgent[i])
	}
	usual := d.put(t, "usual", -500)
	got := taken(t, d.store(t), event.Ask{Rows: 10})
	require.Len(t, got, 10)
	require.Equal(t, fmt.Sprint(old), got[9], "last of the claim, but of it")
	require.Equal(t, texts(urgent[:9]...), got[:9])
	require.NotContains(t, got, fmt.Sprint(usual))
}

// Constant urgent load that the relay cannot keep up with delays an old event
// by no more than the share allows: each claim takes its part of the oldest
// rows, so an event waits for at most (rows due before it) / (share of a claim)
// claims, however much comes after it.
func TestAnOldEventIsDelayedByABoundedNumberOfClaims(t *testing.T) {
	const before, batch, percent = 100, 20, 10
	d := openOrdered(t, rows.Order{ByPriority: true, OldestPercent: percent})
	store := d.store(t)
	insertUrgent := func(n int, age time.Duration) {
		database.Exec(t, d.Owner, `INSERT INTO outbox (event_id, priority, next_attempt_at)
			SELECT gen_random_uuid(), 9, clock_timestamp() - $2::interval FROM generate_series(1, $1::int)`, n, age)
	}
	insertUrgent(before, time.Hour)
	old := fmt.Sprint(d.put(t, nil, -1_800_000))
	bound := before/(batch*percent/100) + 1
	for claims := 1; ; claims++ {
		require.LessOrEqual(t, claims, bound, "the old event has not been claimed")
		insertUrgent(2*batch, 0) // Twice what a claim takes.
		got := taken(t, store, event.Ask{Rows: batch})
		require.Len(t, got, batch)
		if got[batch-1] == old {
			return
		}
		require.NotContains(t, got, old)
	}
}

// The rows that complete a claim are looked up by key, however large the table is
// and was when the plan was made.
func TestAClaimIsCompletedByLookingUpItsKeys(t *testing.T) {
	for _, size := range []int{0, 100, 3000, 200_000} {
		d := openOrdered(t, rows.Order{ByKey: true})
		d.fill(t, size)
		relays, err := d.Open(t).Pool().Acquire(t.Context())
		require.NoError(t, err)
		defer relays.Release()
		claim := rows.OrderedStatements(d.Table, d.Mapping, shape(t, d.Database), 500, d.order)["claim"]
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			t.Run(fmt.Sprintf("%d rows, %s", size, mode), func(t *testing.T) {
				plan := explain(t, relays.Conn(), claim.SQL, "gen_random_uuid()::text, '30 s', '{}'", mode)
				_, closure, _ := strings.Cut(plan, "CTE closure")
				closure, _, _ = strings.Cut(closure, "CTE locked")
				require.Regexp(t, `Scan using outbox_ordered on outbox .*\n +Index Cond: \(\(key = t.key\) AND \(id <= t.upto\)\)`, closure)
			})
		}
	}
}
