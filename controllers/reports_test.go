package controllers

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/resources"
	"github.com/relayfleet/relayfleet/relay/report"
)

// trouble makes of a healthy report one with the code, as a relay says it: what
// comes after the trouble could not be looked at.
func database(code report.Code) func(*report.Report) {
	return func(r *report.Report) {
		unchecked := report.Health{Code: report.Unchecked}
		r.State, r.Backlog = report.Waiting, nil
		r.Database, r.Schema, r.Broker = report.Health{Code: code}, unchecked, unchecked
	}
}

func schema(code report.Code, slots ...string) func(*report.Report) {
	return func(r *report.Report) {
		r.State, r.Backlog = report.Waiting, nil
		r.Schema = report.Health{Code: code, Slots: slots}
	}
}

func broker(code report.Code) func(*report.Report) {
	return func(r *report.Report) { r.State, r.Broker = report.Waiting, report.Health{Code: code} }
}

// Each trouble has a reason of its own and a sentence that says what to do; when
// it is mended the condition follows without anybody's help.
func TestTroublesFromAReport(t *testing.T) {
	t.Parallel()
	const missing = `Secret "orders-db-app" with key "uri" is missing: create it, or correct spec.database.uriFrom`
	for name, tc := range map[string]struct {
		say       func(*report.Report)
		condition string
		reason    string
		message   string
		// ready is the reason of Ready with a relay that is ready.
		ready string
		state status.Status
	}{
		"Secret or key is missing": {
			database(report.CredentialsMissing), v1alpha1.ConditionDatabaseReachable,
			"CredentialsMissing", missing, "CredentialsMissing", status.InProgressStatus,
		},
		"unreadable URI": {
			database(report.CredentialsInvalid), v1alpha1.ConditionDatabaseReachable,
			"CredentialsInvalid",
			`Secret "orders-db-app" with key "uri" cannot be read: write a URI as postgresql://user:password@host:port/database, and certificates as PEM`,
			"CredentialsInvalid", status.FailedStatus,
		},
		"wrong password": {
			database(report.AuthenticationFailed), v1alpha1.ConditionDatabaseReachable,
			"DatabaseAuthenticationFailed",
			`the database refuses user or password: correct them in Secret "orders-db-app" with key "uri"`,
			"DatabaseAuthenticationFailed", status.InProgressStatus,
		},
		"unreachable database": {
			database(report.Unreachable), v1alpha1.ConditionDatabaseReachable,
			"DatabaseUnreachable",
			`no connection to the database: check that it runs, host and port in Secret "orders-db-app" with key "uri", and network policies`,
			reasonRelaysRunning, status.CurrentStatus,
		},
		"weaker TLS than asked for": {
			database(report.TLSTooWeak), v1alpha1.ConditionDatabaseReachable,
			"TLSTooWeak",
			`Secret "orders-db-app" with key "uri" asks for a weaker sslmode than spec.database.tls.mode: raise the one or lower the other`,
			"TLSTooWeak", status.FailedStatus,
		},
		"certificate not accepted": {
			database(report.TLSFailed), v1alpha1.ConditionDatabaseReachable,
			"DatabaseTLSFailed",
			"the database's certificate is not accepted, or it speaks no TLS: check spec.database.tls and name its CA in spec.database.tls.caFrom",
			"DatabaseTLSFailed", status.InProgressStatus,
		},
		"missing database": {
			database(report.DatabaseMissing), v1alpha1.ConditionDatabaseReachable,
			"DatabaseMissing",
			`the server has no database of the name in Secret "orders-db-app" with key "uri": create it, or correct the name`,
			"DatabaseMissing", status.InProgressStatus,
		},
		"missing table": {
			schema(report.TableMissing), v1alpha1.ConditionSchemaValid,
			"TableMissing",
			`table "public.outbox" does not exist: create it, correct spec.table, or grant USAGE on its schema`,
			"TableMissing", status.InProgressStatus,
		},
		"missing columns": {
			schema(report.ColumnsMissing, "lease_until", "generation"), v1alpha1.ConditionSchemaValid,
			"ColumnsMissing", `table "public.outbox" lacks columns generation, lease_until: add them`,
			"ColumnsMissing", status.InProgressStatus,
		},
		"missing grant": {
			schema(report.PermissionDenied), v1alpha1.ConditionSchemaValid,
			"PermissionDenied",
			`the database user may not use table "public.outbox": grant SELECT and UPDATE on it and USAGE on its schema`,
			"PermissionDenied", status.InProgressStatus,
		},
		"row security": {
			schema(report.RowSecurity), v1alpha1.ConditionSchemaValid,
			"RowSecurity",
			`row security decides which rows of table "public.outbox" the database user sees: let it pass over the policies, or disable them`,
			"RowSecurity", status.InProgressStatus,
		},
		"a pooler that is not told of": {
			database(report.PoolingMismatch), v1alpha1.ConditionDatabaseReachable,
			"PoolingMismatch",
			`a pooler in transaction mode stands before the database: set spec.database.pooling to Transaction, or let Secret "orders-db-app" with key "uri" lead past it`,
			"PoolingMismatch", status.FailedStatus,
		},
		"unreachable broker": {
			broker(report.Unreachable), v1alpha1.ConditionBrokerReachable,
			"BrokerUnreachable",
			"no connection to kafka:9092: check that the broker runs, spec.kafka.bootstrapServers, its advertised addresses, and network policies",
			reasonRelaysRunning, status.CurrentStatus,
		},
		"missing topic": {
			broker(report.TopicMissing), v1alpha1.ConditionBrokerReachable,
			"TopicMissing", `the broker does not have topic "orders.events": create it, or correct spec.topic`,
			"TopicMissing", status.InProgressStatus,
		},
		"forbidden topic": {
			broker(report.TopicForbidden), v1alpha1.ConditionBrokerReachable,
			"TopicForbidden", `the broker does not allow writing to topic "orders.events": grant Write and Describe on it`,
			"TopicForbidden", status.InProgressStatus,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := w.outbox()
			w.create(o)
			pod := w.pod(o, tc.say)
			w.startOperator()
			w.deployed(1)
			require.Equal(t, tc.message, w.waitFor(tc.condition, metav1.ConditionFalse, tc.reason).Message)
			value := metav1.ConditionFalse
			if tc.ready == reasonRelaysRunning {
				value = metav1.ConditionTrue
			}
			w.waitFor(v1alpha1.ConditionReady, value, tc.ready)
			require.Equal(t, tc.state, w.kstatus())
			require.Equal(t, 1, w.events(tc.reason))

			w.says(o, pod, well)
			w.wait("well again", func(o *v1alpha1.OutboxRelay) bool {
				return meta.IsStatusConditionTrue(o.Status.Conditions, tc.condition) &&
					meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionReady)
			})
			require.Equal(t, status.CurrentStatus, w.kstatus())
		})
	}
}

// events counts the events of that reason; they are written a little later.
func (w *world) events(reason string) (n int) {
	w.Helper()
	require.Eventually(w, func() bool {
		var list eventsv1.EventList
		require.NoError(w, admin.List(context.Background(), &list, client.InNamespace(w.namespace)))
		n = 0
		for _, e := range list.Items {
			if e.Reason == reason {
				n++
			}
		}
		return n > 0
	}, patience, pause, reason)
	return n
}

// What one relay says that the table cannot record is off for the fleet; it goes
// when no relay says so any more.
func TestWhatATableCannotRecordIsInTheStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox()
	w.create(o)
	lab := func(r *report.Report) { r.Limits = []string{"attempts", "failed", "age", "token", "nonsense"} }
	first, second := w.pod(o, lab), w.pod(o, well)
	w.startOperator()
	w.deployed(1)
	w.wait("limits", func(o *v1alpha1.OutboxRelay) bool {
		return slices.Equal(o.Status.Limits, []string{"age", "attempts", "failed", "token"})
	})
	w.says(o, first, well)
	w.says(o, second, func(r *report.Report) { r.Limits = []string{"age"} })
	w.wait("one limit", func(o *v1alpha1.OutboxRelay) bool { return slices.Equal(o.Status.Limits, []string{"age"}) })
	w.says(o, second, well)
	w.wait("no limits", func(o *v1alpha1.OutboxRelay) bool { return o.Status.Limits == nil })
}

// A topic that grows may move keys: for an hour the condition says so, of the
// relays with the newest settings only, and it changes nothing else.
func TestAddedPartitionsAreAConditionForAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(func(o *v1alpha1.OutboxRelay) { o.Spec.Ordering.Mode = v1alpha1.OrderingKey })
	w.create(o)
	settings, err := resources.RenderSettings(o)
	require.NoError(t, err)
	has := func(partitions int64) func(*report.Report) {
		return func(r *report.Report) { r.Settings, r.Partitions = settings.Hash, partitions }
	}
	first, second := w.pod(o, well), w.pod(o, func(r *report.Report) { r.Settings, r.Partitions = "older", 99 })
	stop := w.startOperator()
	w.deployed(1)
	w.waitFor(v1alpha1.ConditionKeyOrderKept, metav1.ConditionUnknown, reasonNotReported)
	require.Nil(t, w.get().Status.Topic)

	w.says(o, first, has(4))
	c := w.waitFor(v1alpha1.ConditionKeyOrderKept, metav1.ConditionTrue, reasonPartitionsUnchanged)
	require.Equal(t, `topic "orders.events" has 4 partitions, and none was added within the last hour`, c.Message)

	w.says(o, second, has(6))
	c = w.waitFor(v1alpha1.ConditionKeyOrderKept, metav1.ConditionFalse, reasonPartitionsAdded)
	require.Contains(t, c.Message, `topic "orders.events" has grown from 4 to 6 partitions, so keys may have moved`)
	require.Equal(t, 1, w.events(reasonPartitionsAdded))
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionTrue, reasonRelaysRunning)
	require.Equal(t, status.CurrentStatus, w.kstatus())

	// Another operator knows it from the status, and when nobody answers any more.
	stop()
	for _, pod := range []*corev1.Pod{first, second} {
		w.relays.set(pod.Status.PodIP+":8080", w.relays.nobody)
	}
	w.partitionsAdded(orderUnsettled - 5*time.Minute)
	w.startOperator()
	w.waitFor(v1alpha1.ConditionBacklogKnown, metav1.ConditionFalse, reasonNoRelayAnswers)
	w.waitFor(v1alpha1.ConditionKeyOrderKept, metav1.ConditionFalse, reasonPartitionsAdded)
	w.partitionsAdded(orderUnsettled + time.Minute)
	c = w.waitFor(v1alpha1.ConditionKeyOrderKept, metav1.ConditionTrue, reasonPartitionsUnchanged)
	require.Contains(t, c.Message, "has 6 partitions")
	require.EqualValues(t, 4, *w.get().Status.Topic.PartitionsBefore)

	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.Topic = "another" })
	w.waitFor(v1alpha1.ConditionKeyOrderKept, metav1.ConditionUnknown, reasonNotReported)
	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.Ordering = v1alpha1.Ordering{} })
	w.wait("no condition without an order", func(o *v1alpha1.OutboxRelay) bool {
		return meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionKeyOrderKept) == nil
	})
}

// partitionsAdded makes it so long ago that the topic grew.
func (w *world) partitionsAdded(ago time.Duration) {
	w.Helper()
	o := w.get()
	require.NotNil(w, o.Status.Topic.PartitionsAddedAt)
	base := o.DeepCopy()
	o.Status.Topic.PartitionsAddedAt = new(metav1.NewTime(time.Now().Add(-ago)))
	require.NoError(w, admin.Status().Patch(w.Context(), o, client.MergeFrom(base)))
}

// Nobody has to wake the operator for the end of the hour.
func TestAnAddedPartitionIsLookedAtAgainAfterTheHour(t *testing.T) {
	t.Parallel()
	now := time.Now()
	o := &v1alpha1.OutboxRelay{Spec: v1alpha1.OutboxRelaySpec{Topic: "t", Ordering: v1alpha1.Ordering{Mode: v1alpha1.OrderingKey}}}
	for age, want := range map[time.Duration]time.Duration{
		time.Minute: safetyNet, 59 * time.Minute: time.Minute, 2 * time.Hour: safetyNet,
	} {
		s := &scope{relay: o, now: now}
		s.setKeyOrderKept(&v1alpha1.OutboxRelayStatus{Topic: &v1alpha1.TopicStatus{PartitionsAddedAt: new(metav1.NewTime(now.Add(-age)))}})
		result, err := s.result()
		require.NoError(t, err)
		require.Equal(t, want, result.RequeueAfter)
	}
}

// Notifications that do not come are a condition, and change nothing else.
func TestNotificationsThatAreNotHeard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(func(o *v1alpha1.OutboxRelay) {
		o.Spec.WakeUp = v1alpha1.WakeUp{Mode: v1alpha1.WakeUpNotify, Channel: "inserts"}
	})
	w.create(o)
	hears := func(code report.Code) func(*report.Report) { return func(r *report.Report) { r.Notifications = code } }
	first, second := w.pod(o, well), w.pod(o, hears("nonsense"))
	w.startOperator()
	w.deployed(1)
	w.waitFor(v1alpha1.ConditionNotificationsHeard, metav1.ConditionUnknown, reasonNotReported)
	w.says(o, first, hears(report.OK))
	w.waitFor(v1alpha1.ConditionNotificationsHeard, metav1.ConditionTrue, reasonHeard)
	w.says(o, first, hears(report.NotAnnounced))
	c := w.waitFor(v1alpha1.ConditionNotificationsHeard, metav1.ConditionFalse, reasonNotAnnounced)
	require.Contains(t, c.Message, `create the trigger that notifies it, or correct spec.wakeUp.channel`)
	w.says(o, second, hears(report.NotHeard))
	c = w.waitFor(v1alpha1.ConditionNotificationsHeard, metav1.ConditionFalse, reasonNotHeard)
	require.Contains(t, c.Message, `relays do not hear notifications of channel "inserts"`)
	require.Equal(t, 1, w.events(reasonNotHeard))
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionTrue, reasonRelaysRunning)
	w.change(func(s *v1alpha1.OutboxRelaySpec) { s.WakeUp = v1alpha1.WakeUp{} })
	w.wait("no condition without listening", func(o *v1alpha1.OutboxRelay) bool {
		return meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionNotificationsHeard) == nil
	})
}

func TestTopicsThatRowsNameAreNotWatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.outbox(func(o *v1alpha1.OutboxRelay) {
		o.Spec.Topic, o.Spec.Mapping.Preset, o.Spec.Ordering.Mode = "", v1alpha1.PresetDebezium, v1alpha1.OrderingKey
	}))
	w.startOperator()
	w.waitFor(v1alpha1.ConditionKeyOrderKept, metav1.ConditionUnknown, reasonTopicsOfRows)
}

func TestRowsMayNameEveryTopic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(func(o *v1alpha1.OutboxRelay) {
		o.Spec.Topic, o.Spec.Mapping.Preset = "", v1alpha1.PresetDebezium
	})
	w.create(o)
	w.pod(o, well)
	w.startOperator()
	w.deployed(1)
	reachable := w.waitFor(v1alpha1.ConditionBrokerReachable, metav1.ConditionTrue, reasonReachable)
	require.Equal(t, "the relays can publish to the topics that rows name", reachable.Message)
}

// With no relay ready yet, an outage is why; it says so instead of "not ready".
func TestAnOutageAtTheStartIsWhyNothingIsReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox()
	w.create(o)
	w.pod(o, database(report.Unreachable))
	w.startOperator()
	w.deployed(0)
	w.waitFor(v1alpha1.ConditionReady, metav1.ConditionFalse, "DatabaseUnreachable")
}

func TestARelayThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox()
	w.create(o)
	pod := w.pod(o, aged(20))
	w.startOperator()
	w.deployed(1)
	w.waitFor(v1alpha1.ConditionBacklogKnown, metav1.ConditionTrue, reasonSampled)

	w.relays.set(pod.Status.PodIP+":8080", w.relays.nobody)
	c := w.waitFor(v1alpha1.ConditionBacklogKnown, metav1.ConditionFalse, reasonNoRelayAnswers)
	require.Contains(t, c.Message, "a network policy or a mesh may forbid it")
	got := w.get()
	require.EqualValues(t, 20, *got.Status.Backlog.OldestEligibleAgeSeconds, "the last known age is kept")
	require.Equal(t, "SampleUnavailable", got.Status.Scaling.Reason)
	require.EqualValues(t, 1, *got.Status.Scaling.DesiredReplicas)
	require.True(t, meta.IsStatusConditionTrue(got.Status.Conditions, v1alpha1.ConditionReady), "relays run all the same")
}

func TestAReportOfSomebodyElseIsDiscarded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*report.Report){
		"another pod":       func(r *report.Report) { r.Pod = "other" },
		"another resource":  func(r *report.Report) { r.Resource = "other" },
		"another namespace": func(r *report.Report) { r.Namespace = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := w.outbox()
			w.create(o)
			w.pod(o, change)
			w.startOperator()
			w.deployed(1)
			c := w.waitFor(v1alpha1.ConditionBacklogKnown, metav1.ConditionFalse, reasonNoRelayAnswers)
			require.Contains(t, c.Message, "something else answers at the pods' addresses")
			require.Nil(t, w.get().Status.Backlog)
		})
	}
}
