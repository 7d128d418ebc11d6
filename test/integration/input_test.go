package integration

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/authority"
	"github.com/relayfleet/relayfleet/hack/database/pgbouncer"
	"github.com/relayfleet/relayfleet/hack/service"
	"github.com/relayfleet/relayfleet/relay/outbox"
	"github.com/relayfleet/relayfleet/relay/outbox/schema"
	"github.com/relayfleet/relayfleet/relay/report"
)

// wrong is one bad input: how it comes, what is reported of it, and how it goes.
type wrong struct {
	input    string
	breakIt  func(f *fleet)
	mend     func(f *fleet)
	database report.Code
	schema   report.Code
	broker   report.Code
	slots    []string
}

func badURI(content func(f *fleet) string) func(*fleet) {
	return func(f *fleet) { f.write("uri", content(f)) }
}

func mendURI(f *fleet) { f.write("uri", f.uri()) }

func wrongs(t *testing.T) []wrong {
	t.Helper()
	port := freePort(t)
	return []wrong{
		{
			input:    "the file with the URI is missing",
			breakIt:  func(f *fleet) { require.NoError(f.t, os.Remove(filepath.Join(f.dir, "uri"))) },
			mend:     mendURI,
			database: report.CredentialsMissing, broker: report.OK,
		}, {
			input:    "the file with the URI is empty",
			breakIt:  badURI(func(*fleet) string { return "" }),
			mend:     mendURI,
			database: report.CredentialsMissing, broker: report.OK,
		}, {
			input: "the URI is garbage with a password in it",
			breakIt: badURI(func(f *fleet) string {
				return f.changedURI(func(u *url.URL) { u.Host = "host with spaces:port"; u.RawQuery = "%zz" })
			}),
			mend:     mendURI,
			database: report.CredentialsInvalid, broker: report.OK,
		}, {
			input: "the database cannot be reached",
			breakIt: badURI(func(f *fleet) string {
				return f.changedURI(func(u *url.URL) { u.Host = net.JoinHostPort(service.Loopback, strconv.Itoa(port)) })
			}),
			mend:     func(f *fleet) { forward(f.t, port, database.Address()) },
			database: report.Unreachable, broker: report.OK,
		}, {
			input: "the password is wrong",
			breakIt: badURI(func(f *fleet) string {
				f.secrets = append(f.secrets, "not-the-password")
				return f.changedURI(func(u *url.URL) { u.User = url.UserPassword(f.role, "not-the-password") })
			}),
			mend:     func(f *fleet) { f.exec("ALTER ROLE " + f.role + " PASSWORD 'not-the-password'") },
			database: report.AuthenticationFailed, broker: report.OK,
		}, {
			input:    "the server has no such database",
			breakIt:  badURI(func(f *fleet) string { return f.changedURI(func(u *url.URL) { u.Path = "/elsewhere" }) }),
			mend:     mendURI,
			database: report.DatabaseMissing, broker: report.OK,
		}, {
			input: "the server's certificate is of another authority",
			breakIt: func(f *fleet) {
				other, err := authority.New("another")
				require.NoError(f.t, err)
				f.write("ca.crt", string(other.PEM()))
			},
			mend:     func(f *fleet) { f.write("ca.crt", read(f.t, database.CAFile())) },
			database: report.TLSFailed, broker: report.OK,
		}, {
			input:    "the table does not exist",
			breakIt:  func(f *fleet) { f.exec("ALTER TABLE outbox RENAME TO hidden") },
			mend:     func(f *fleet) { f.exec("ALTER TABLE hidden RENAME TO outbox") },
			database: report.OK, schema: report.TableMissing, broker: report.OK,
		}, {
			input:    "the table lacks columns",
			breakIt:  func(f *fleet) { f.exec("ALTER TABLE outbox RENAME claim_token TO hidden") },
			mend:     func(f *fleet) { f.exec("ALTER TABLE outbox RENAME hidden TO claim_token") },
			database: report.OK, schema: report.ColumnsMissing, broker: report.OK, slots: []string{"claim_token"},
		}, {
			input: "the role lacks grants",
			breakIt: func(f *fleet) {
				f.exec("REVOKE ALL ON TABLE outbox FROM " + f.role)
				f.exec("REVOKE UPDATE (status, generation, claim_token, attempts, lease_until, next_attempt_at, sent_at, failed_at, last_error) ON TABLE outbox FROM " + f.role)
			},
			mend:     func(f *fleet) { f.exec(schema.Grants(f.tables.Outbox(), outbox.Relayfleet(), f.role)) },
			database: report.OK, schema: report.PermissionDenied, broker: report.OK,
		}, {
			input:    "the table refuses a status of the mapping",
			breakIt:  func(f *fleet) { f.exec("ALTER TABLE outbox ADD CONSTRAINT own CHECK (status <> 'FAILED')") },
			mend:     func(f *fleet) { f.exec("ALTER TABLE outbox DROP CONSTRAINT own") },
			database: report.OK, schema: report.StatusNotAllowed, broker: report.OK, slots: []string{"status"},
		}, {
			input:    "row security hides the rows",
			breakIt:  func(f *fleet) { f.exec("ALTER TABLE outbox ENABLE ROW LEVEL SECURITY") },
			mend:     func(f *fleet) { f.exec("ALTER TABLE outbox DISABLE ROW LEVEL SECURITY") },
			database: report.OK, schema: report.RowSecurity, broker: report.OK,
		}, {
			input:    "the id is not unique",
			breakIt:  func(f *fleet) { f.exec("ALTER TABLE outbox DROP CONSTRAINT outbox_pkey CASCADE") },
			mend:     func(f *fleet) { f.exec("ALTER TABLE outbox ADD PRIMARY KEY (id)") },
			database: report.OK, schema: report.IDNotUnique, broker: report.OK, slots: []string{"id"},
		}, {
			input: "a pooler in transaction mode that the settings do not know of",
			breakIt: func(f *fleet) {
				changing.Lock()
				defer changing.Unlock()
				pooler := pgbouncer.StartForTest(f.t, database, pgbouncer.Options{Roles: []string{f.role}})
				f.write("uri", pooler.URI(f.name, f.role))
			},
			mend:     mendURI,
			database: report.PoolingMismatch, broker: report.OK,
		}, {
			input: "the broker cannot be reached",
			breakIt: func(f *fleet) {
				f.settings.Kafka.BootstrapServers = []string{net.JoinHostPort(service.Loopback, strconv.Itoa(port+1))}
			},
			mend:     func(f *fleet) { forward(f.t, port+1, broker.Addresses()[0]) },
			database: report.OK, schema: report.OK, broker: report.Unreachable,
		}, {
			input:    "the topic does not exist",
			breakIt:  func(f *fleet) { require.NoError(f.t, broker.Admin().DeleteTopic(f.t.Context(), f.name)) },
			mend:     func(f *fleet) { f.createTopic() },
			database: report.OK, schema: report.OK, broker: report.TopicMissing,
		},
	}
}

func TestBadInputIsNamedLosesNothingAndIsMendedWithoutARestart(t *testing.T) {
	t.Parallel()
	for _, w := range wrongs(t) {
		t.Run(w.input, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.produce(200)
			w.breakIt(f)
			r := f.start()
			requireReported(t, r, w)
			w.mend(f)
			r.awaitRunning()
			f.consume()
			v := f.verdict()
			require.Empty(t, v.Duplicates)
			require.EqualValues(t, 200, f.count("status = 'SENT' AND attempts = 1 AND generation = 1"))
			require.True(t, r.Running())
		})
	}
}

func requireReported(t *testing.T, r *relay, w wrong) {
	t.Helper()
	schemaCode := w.schema
	if schemaCode == "" {
		schemaCode = report.Unchecked
	}
	r.await("database "+string(w.database)+", schema "+string(schemaCode)+", broker "+string(w.broker),
		func(c report.Report) bool {
			return c.Database.Code == w.database && c.Schema.Code == schemaCode && c.Broker.Code == w.broker
		})
	got := r.report()
	require.Equal(t, report.Waiting, got.State)
	if w.slots != nil {
		require.Equal(t, w.slots, got.Schema.Slots)
	}
	if w.schema == report.OK {
		r.await("the backlog", func(c report.Report) bool { return c.Backlog != nil && c.Backlog.Eligible == 200 })
	}
	require.Zero(t, got.Rates)
	ready, err := r.Ready(t.Context())
	require.NoError(t, err)
	require.False(t, ready)
}
