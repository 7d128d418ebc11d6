package rows

import (
	"embed"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/relayfleet/relayfleet/relay/outbox"
)

//go:embed *.sql
var files embed.FS

// hole matches the comment with the hole's name and the value behind it.
var hole = regexp.MustCompile(`/\*([a-z]+)\*/[\w.]+`)

// render reads the statement of that name and fills its holes; one that values
// does not name keeps what stands in the file. Comments stay behind.
func render(name string, values map[string]string) string {
	text, err := files.ReadFile(name + ".sql")
	if err != nil {
		panic("rows: no statement " + name) // Names are constants of this package.
	}
	lines := strings.Split(string(text), "\n")
	kept := lines[:0]
	for _, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			kept = append(kept, line)
		}
	}
	statement := hole.ReplaceAllStringFunc(strings.Join(kept, "\n"), func(found string) string {
		if value, ok := values[hole.FindStringSubmatch(found)[1]]; ok {
			return value
		}
		return found
	})
	return strings.TrimSpace(statement)
}

// statements are those of one table; that of the claim also depends on its limit.
type statements struct {
	table                                                           map[string]string
	durable, read, refused, recover, backlog                        string
	settleSent, settleRetry, settleFailed, release, uncharge, renew string
}

func newStatements(table outbox.Table) statements {
	values := map[string]string{"table": table.SQL(), "cap": strconv.Itoa(backlogCap)}
	return statements{
		table:        values,
		durable:      render("durable", values),
		read:         render("read", values),
		refused:      render("refused", values),
		recover:      render("recover", values),
		backlog:      render("backlog", values),
		settleSent:   render("settle_sent", values),
		settleRetry:  render("settle_retry", values),
		settleFailed: render("settle_failed", values),
		release:      render("release", values),
		uncharge:     render("uncharge", values),
		renew:        render("renew", values),
	}
}

func (s statements) claim(limit int) string {
	return render("claim", map[string]string{"table": s.table["table"], "limit": strconv.Itoa(limit)})
}

// Indexes are the statements that create the indexes without which a claim
// reads the whole table.
func Indexes(table outbox.Table) string {
	return render("index", map[string]string{
		"table":  table.SQL(),
		"queue":  pgx.Identifier{table.Name + "_queue"}.Sanitize(),
		"failed": pgx.Identifier{table.Name + "_failed"}.Sanitize(),
	})
}
