package lab

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/outboxtest/database"
)

// childVariable makes the test binary a worker that claims one event, says which,
// and waits to be killed.
const childVariable = "RELAYFLEET_LAB_CHILD"

func TestMain(m *testing.M) {
	if kind := os.Getenv(childVariable); kind != "" {
		os.Exit(child(kind))
	}
	database.Main(m)
}

// child claims, prints the event and waits for ever. What it needs to know comes
// by the environment.
func child(kind string) int {
	ctx := context.Background()
	table := outbox.Table{Schema: os.Getenv("LAB_SCHEMA"), Name: os.Getenv("LAB_TABLE")}
	m, _ := outbox.Preset(os.Getenv("LAB_PRESET"))
	w, err := childWorker(ctx, kind, table, m)
	var id string
	if err == nil {
		id, err = w.claim(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(id)
	time.Sleep(time.Hour)
	return 0
}

func childWorker(ctx context.Context, kind string, table outbox.Table, m outbox.Mapping) (worker, error) {
	if kind == "unsafe" {
		conn, err := pgx.Connect(ctx, os.Getenv("LAB_URL"))
		return &unsafe{conn: conn, table: table, m: m}, err
	}
	db, err := outbox.Open(outbox.Config{URIFile: os.Getenv("LAB_URI_FILE"), CAFile: os.Getenv("LAB_CA_FILE")}) //nolint:contextcheck // Opening connects nowhere.
	if err != nil {
		return nil, err
	}
	w, err := newGuarded(db, table, m)
	if err != nil || kind != kindPublisher {
		return w, err
	}
	return childPublisher(w)
}

// bench is one table for one scenario, in a schema of its own.
type bench struct {
	database.Database
	preset string
	kind   string
}

// kinds are the two workers.
const (
	kindGuarded = "guarded"
	kindUnsafe  = "unsafe"
)

func (b bench) worker(t *testing.T) worker {
	t.Helper()
	if b.kind == kindUnsafe {
		return &unsafe{conn: b.Connect(t, database.Owner), table: b.Table, m: b.Mapping}
	}
	w, err := newGuarded(b.Open(t), b.Table, b.Mapping)
	require.NoError(t, err)
	return w
}

// killed starts a worker process, lets it claim, and kills it only after it has
// told what it holds: killing it before the commit would test a rollback.
func (b bench) killed(t *testing.T) (claimed string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+b.kind, "LAB_SCHEMA="+b.Table.Schema, "LAB_TABLE="+b.Table.Name,
		"LAB_PRESET="+b.preset, "LAB_URL="+database.Server.URL(b.Name, database.Owner),
		"LAB_URI_FILE="+b.URIFile, "LAB_CA_FILE="+database.Server.CAFile())
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, readErr := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // Its status is looked at below.
	require.NoError(t, readErr)
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "it ended by %v", cmd.ProcessState)
	return line[:len(line)-1]
}

// insert commits n due events, the oldest first.
func (b bench) insert(t *testing.T, n int) []string {
	t.Helper()
	var ids []string
	for i := range n {
		ids = append(ids, b.insertOne(t, fmt.Sprintf("key %d", i), i))
	}
	return ids
}

// insertOne commits an event that has been due for a minute, less order milliseconds.
func (b bench) insertOne(t *testing.T, key string, order int) string {
	t.Helper()
	return b.insertDue(t, key, fmt.Sprintf("clock_timestamp() - interval '1 minute' + %d * interval '1 ms'", order))
}

// insertDue commits an event that is due at the time of an expression.
func (b bench) insertDue(t *testing.T, key, due string) string {
	t.Helper()
	m := b.Mapping
	columns, values := q(m.EventID)+", "+q(m.Key)+", "+q(m.NextAttemptAt), "gen_random_uuid(), $1, "+due
	switch b.preset {
	case "StatusCodes":
		columns, values = columns+", payload", values+", '{}'"
	case "Token":
		columns, values = columns+", payload", values+", 'text'"
	case "Debezium":
		columns, values = columns+", aggregatetype, type", values+", 'order', 'Placed'"
	}
	return database.Query[string](t, b.Owner,
		fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) RETURNING %s::text", b.Table.SQL(), columns, values, q(m.EventID)), key)
}

// state is what is recorded of an event.
type state struct {
	// status is READY, INPROGRESS, SENT, FAILED, or the table's own word.
	status string
	// claims counts the claims of this row, where the table counts them.
	claims int64
	all    string
}

func (b bench) look(t *testing.T, id string) state {
	t.Helper()
	m := b.Mapping
	rows, err := b.Owner.Query(t.Context(), fmt.Sprintf(`SELECT %s::text, coalesce(%s::text, ''), %s::bigint, o::text FROM %s AS o WHERE %s::text = $1`,
		q(m.Status), tokenOr(m), q(m.Counter()), b.Table.SQL(), q(m.EventID)), id)
	require.NoError(t, err)
	type found struct {
		Status, Token string
		Claims        int64
		All           string
	}
	f, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[found])
	require.NoError(t, err)
	words := map[string]string{m.Ready: "READY", m.InProgress: "INPROGRESS", m.Sent: "SENT", m.Failed: "FAILED"}
	status, ok := words[f.Status]
	if !ok {
		status = f.Status
	}
	if m.InProgress == "" && status == "READY" && f.Token != "" {
		status = "INPROGRESS"
	}
	return state{status: status, claims: f.Claims, all: f.All}
}

func tokenOr(m outbox.Mapping) string {
	if m.ClaimToken == "" {
		return "''"
	}
	return q(m.ClaimToken)
}

// expire lets the lease of an event run out; nobody waits for it.
func (b bench) expire(t *testing.T, id string) {
	t.Helper()
	b.exec(t, fmt.Sprintf("UPDATE %%s SET %s = clock_timestamp() WHERE %s::text = $1", q(b.Mapping.LeaseUntil), q(b.Mapping.EventID)), id)
}

// supersede gives a living claim to somebody else, as a reclaim would.
func (b bench) supersede(t *testing.T, id string) {
	t.Helper()
	m := b.Mapping
	set := fmt.Sprintf("%s = clock_timestamp() + interval '10 minutes'", q(m.LeaseUntil))
	if m.Generation != "" {
		set += fmt.Sprintf(", %[1]s = %[1]s + 1", q(m.Generation))
	}
	if m.ClaimToken != "" {
		set += fmt.Sprintf(", %s = gen_random_uuid()", q(m.ClaimToken))
	}
	b.exec(t, fmt.Sprintf("UPDATE %%s SET %s WHERE %s::text = $1", set, q(m.EventID)), id)
}

func (b bench) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	database.Exec(t, b.Owner, fmt.Sprintf(statement, b.Table.SQL()), args...)
}
